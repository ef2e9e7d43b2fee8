package null

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"k8s.io/client-go/util/cert"
)

// Server says how the server answers.
type Server struct {
	// Answer is the size of each answer in bytes, and Delay how long it is held back.
	Answer int64
	Delay  time.Duration
	// AddressFile gets the port that it listens on; a file of this name and .pem, its certificate.
	AddressFile string
}

// Serve answers until ctx is done.
func (s Server) Serve(ctx context.Context) error {
	encoded, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	if err != nil {
		return fmt.Errorf("make a certificate: %w", err)
	}
	certificate, err := tls.X509KeyPair(encoded, key)
	if err != nil {
		return fmt.Errorf("make a certificate: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	server := &http.Server{
		Handler: s.handler(), TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}},
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: 1000},
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return err
	}
	// The certificate first: who has read the address looks for it.
	if err := errors.Join(writeWhole(s.AddressFile+".pem", encoded), writeWhole(s.AddressFile, []byte(port))); err != nil {
		return err
	}
	if err := server.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// handler answers every request with an object, or a list without continue,
// whose size is that of the answer.
func (s Server) handler() http.HandlerFunc {
	const head, tail = `{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[],"padding":"`, `"}`
	padding := max(0, int(s.Answer)-len(head)-len(tail))
	body := append(append([]byte(head), bytes.Repeat([]byte("a"), padding)...), tail...)
	length := strconv.Itoa(len(body))
	return func(w http.ResponseWriter, r *http.Request) {
		if s.Delay > 0 {
			time.Sleep(s.Delay)
		}
		if r.Body != nil {
			_, _ = io.Copy(io.Discard, r.Body)
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", length)
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusCreated)
		}
		_, _ = w.Write(body)
	}
}

// writeWhole makes a file appear with all that is in it.
func writeWhole(path string, data []byte) error {
	temporary := filepath.Join(filepath.Dir(path), "."+filepath.Base(path))
	if err := os.WriteFile(temporary, data, 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}
