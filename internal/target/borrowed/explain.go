package borrowed

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
)

// explain adds the way out to what TLS and authentication say.
func explain(err error, config *rest.Config) error {
	text := err.Error()
	says := func(parts ...string) bool {
		for _, part := range parts {
			if strings.Contains(text, part) {
				return true
			}
		}
		return false
	}
	way := ""
	switch {
	case apierrors.IsForbidden(err) && says("system:anonymous"):
		way = "the kubeconfig has no credentials for this context"
	case apierrors.IsUnauthorized(err), says("Unauthorized", "provide credentials"):
		way = "the kubeconfig's credentials are not valid here, or have expired" + certificateInWords(config)
	case says("certificate signed by unknown authority"):
		way = "the kubeconfig's certificate-authority is not that of this server; was the cluster made anew?"
	case says("certificate is valid for"), says("doesn't contain any IP SANs"):
		way = "the server's certificate is for other addresses: use one of them, or set tls-server-name in the kubeconfig"
	case says("certificate has expired"):
		way = "renew the server's certificate, or look at the clock of this machine"
	case says("bad certificate", "unknown certificate", "certificate required"):
		way = "the server does not accept the kubeconfig's client certificate" + certificateInWords(config)
	case says("HTTP response to HTTPS client"):
		way = "the server speaks http: write http:// in the kubeconfig, or name another port"
	case apierrors.IsBadRequest(err) && strings.HasPrefix(config.Host, "http:"):
		way = "the server may speak https: write https:// in the kubeconfig"
	case says("connection refused", "no such host", "i/o timeout", "deadline exceeded"):
		way = "is the cluster running, and is this the right context?"
	default:
		return err
	}
	return fmt.Errorf("%w: %s", err, way)
}

// certificateInWords says until when the client certificate of a kubeconfig is
// valid: a server that refuses it does not tell why. Empty, if there is none.
func certificateInWords(config *rest.Config) string {
	certificate, err := clientCertificate(config)
	switch now := time.Now(); {
	case err != nil:
		return ""
	case now.After(certificate.NotAfter):
		return fmt.Sprintf(" (the client certificate of %s expired at %s: fetch a new kubeconfig)", certificate.Subject.CommonName, certificate.NotAfter.UTC().Format(time.RFC3339))
	case now.Before(certificate.NotBefore):
		return fmt.Sprintf(" (the client certificate of %s is valid only from %s: look at the clock of this machine)", certificate.Subject.CommonName, certificate.NotBefore.UTC().Format(time.RFC3339))
	default:
		return fmt.Sprintf(" (the client certificate of %s is valid until %s, so it may be of another cluster)", certificate.Subject.CommonName, certificate.NotAfter.UTC().Format(time.RFC3339))
	}
}

func clientCertificate(config *rest.Config) (*x509.Certificate, error) {
	loaded := rest.CopyConfig(config)
	if err := rest.LoadTLSFiles(loaded); err != nil {
		return nil, err
	}
	block, _ := pem.Decode(loaded.CertData)
	if block == nil {
		return nil, errors.New("there is no client certificate")
	}
	return x509.ParseCertificate(block.Bytes)
}
