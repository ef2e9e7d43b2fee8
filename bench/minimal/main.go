// Command minimal walks over a list as cheaply as net/http allows: the yard
// stick that bench/walk.sh holds plimsoll to. It times nothing but the whole,
// records nothing, and of each page reads no more than the continue token: what
// follows is thrown away unseen.
package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "minimal:", err)
		os.Exit(1)
	}
}

func run() error {
	secrets := flag.String("secrets", "", "`folder` with ca.crt, load.crt and load.key")
	list := flag.String("list", "", "`URL` of the list, without a query")
	limit := flag.Int("limit", 100, "objects per page")
	clients := flag.Int("clients", 10, "clients, each with a connection of its own")
	walks := flag.Int("walks", 100, "walks of all clients together")
	flag.Parse()

	config, err := credentials(*secrets)
	if err != nil {
		return err
	}
	var claimed, pages atomic.Int64
	var failed error
	var once sync.Once
	var all sync.WaitGroup
	started := time.Now()
	for range *clients {
		w := walker{
			// As plimsoll's connections are set, so that the server sees the same.
			client: &http.Client{Transport: &http.Transport{
				TLSClientConfig: config, ForceAttemptHTTP2: true, DisableCompression: true,
				HTTP2: &http.HTTP2Config{MaxReadFrameSize: 1 << 20},
			}},
			first: *list + "?limit=" + strconv.Itoa(*limit), buffer: make([]byte, 64<<10),
		}
		all.Go(func() {
			for claimed.Add(1) <= int64(*walks) {
				n, err := w.walk()
				pages.Add(n)
				if err != nil {
					once.Do(func() { failed = err })
					return
				}
			}
		})
	}
	all.Wait()
	fmt.Printf("requests %d seconds %.3f\n", pages.Load(), time.Since(started).Seconds())
	return failed
}

// credentials are those of the load user, who is subject to priority and fairness.
func credentials(secrets string) (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(filepath.Join(secrets, "load.crt"), filepath.Join(secrets, "load.key"))
	if err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(filepath.Join(secrets, "ca.crt"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, errors.New("ca.crt holds no certificate")
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: roots}, nil
}

type walker struct {
	client *http.Client
	first  string // URL of the first page
	buffer []byte
}

// walk follows continue to the end and gives how many pages there were.
func (w *walker) walk() (pages int64, err error) {
	for token := ""; ; {
		address := w.first
		if token != "" {
			address += "&continue=" + url.QueryEscape(token)
		}
		if token, err = w.page(address); err != nil {
			return pages, err
		}
		pages++
		if token == "" {
			return pages, nil
		}
	}
}

// page reads a page and gives the token of the next, which stands before the items.
func (w *walker) page(address string) (string, error) {
	request, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	request.Header.Set("Accept", "application/json")
	response, err := w.client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("GET %s: %s", address, response.Status)
	}
	n, err := io.ReadAtLeast(response.Body, w.buffer, 4<<10)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) { // a short page is whole
		return "", err
	}
	_, after, _ := bytes.Cut(w.buffer[:n], []byte(`"continue":"`))
	token, _, _ := bytes.Cut(after, []byte(`"`))
	found := string(token)
	for err == nil {
		_, err = response.Body.Read(w.buffer)
	}
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", err
	}
	return found, nil
}
