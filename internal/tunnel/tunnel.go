// Package tunnel is how a downstream control plane is reached through the one
// upstream, as in Rancher and with its library, remotedialer: an agent beside
// the downstream plane dials out to the server upstream and keeps a websocket
// open, through which the server reaches what the agent allows. A client's
// request goes to the server's proxy, through the websocket to the agent, and
// from there to Steve. Each end is a process of its own.
//
// As in Rancher the websocket is inside TLS, what goes through it is plain
// HTTP/1.1, and every request opens a connection of its own in it. Otherwise
// than there, who may pass is decided by a client certificate alone, where
// Rancher checks a token and asks an API server for each user; no one is
// impersonated; and Steve is a process beside the agent, reached over loopback,
// where Rancher's agent is the same process.
package tunnel

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gorilla/websocket"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rancher/remotedialer"
	utilproxy "k8s.io/apimachinery/pkg/util/proxy"
	"k8s.io/client-go/util/cert"
)

// The verbs of plimsoll that are the ends.
const (
	ServerVerb = "tunnel-server"
	AgentVerb  = "tunnel-agent"
)

// Paths of the server.
const (
	connectPath = "/connect" // where agents come in
	// ConnectedPath answers with 200 while an agent is connected, and HealthPath always.
	ConnectedPath = "/connected"
	HealthPath    = "/healthz"
	MetricsPath   = "/metrics"
	// ProxyPath begins the paths of what goes to Steve, as those of a cluster do in Rancher.
	ProxyPath = "/k8s/clusters/" + cluster
)

// cluster is what the server knows the only agent by.
const cluster = "downstream"

// prefixHeader tells Steve what begins the paths of the links in its answers.
const prefixHeader = "X-API-URL-Prefix"

// Identity is what an end shows and trusts: files with a certificate, its key,
// and the authority that the other's certificate is signed by.
type Identity struct{ Cert, Key, CA string }

func (i Identity) load() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(i.Cert, i.Key)
	if err != nil {
		return nil, fmt.Errorf("read the certificate: %w", err)
	}
	authority, err := cert.NewPool(i.CA)
	if err != nil {
		return nil, fmt.Errorf("read the authority: %w", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: authority, ClientCAs: authority}, nil
}

// Server is the end upstream.
type Server struct {
	Identity
	// Listen is its host and port.
	Listen string
	// AgentUser is the common name that the agent's certificate must have.
	AgentUser string
	// Steve is the host and port that the agent is asked to dial.
	Steve string
}

// Serve lets agents in and proxies to Steve until ctx is done.
func (s *Server) Serve(ctx context.Context) error {
	config, err := s.load()
	if err != nil {
		return err
	}
	config.ClientAuth = tls.RequireAndVerifyClientCert
	listener, err := net.Listen("tcp", s.Listen)
	if err != nil {
		return err
	}
	server := http.Server{Handler: s.handler(), TLSConfig: config, BaseContext: func(net.Listener) context.Context { return ctx }}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (s *Server) handler() http.Handler {
	agents := remotedialer.New(func(r *http.Request) (string, bool, error) {
		return cluster, r.TLS.PeerCertificates[0].Subject.CommonName == s.AgentUser, nil
	}, remotedialer.DefaultErrorWriter)
	mux := http.NewServeMux()
	mux.Handle(connectPath, agents)
	mux.HandleFunc(HealthPath, func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc(ConnectedPath, func(w http.ResponseWriter, _ *http.Request) {
		if !agents.HasSession(cluster) {
			http.Error(w, "no agent is connected", http.StatusServiceUnavailable)
		}
	})
	mux.Handle(MetricsPath, promhttp.Handler())
	mux.Handle(ProxyPath+"/", s.proxy(agents.Dialer(cluster)))
	return mux
}

// proxy hands requests on through the tunnel, with the API machinery's own proxy, as Rancher does.
func (s *Server) proxy(dial remotedialer.Dialer) http.Handler {
	transport := &http.Transport{
		// Rancher makes a transport for each request, whose connection nobody uses again.
		DisableKeepAlives: true, DisableCompression: true,
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) { return dial(ctx, network, s.Steve) },
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		location := &url.URL{Scheme: "http", Host: s.Steve, Path: strings.TrimPrefix(r.URL.Path, ProxyPath), RawQuery: r.URL.RawQuery}
		r.Header.Set(prefixHeader, ProxyPath)
		r.Header.Set("X-Forwarded-Proto", "https") // else Steve would redirect to its port with TLS
		utilproxy.NewUpgradeAwareHandler(location, transport, false, false, failure{}).ServeHTTP(w, r)
	})
}

// failure answers where Steve does not.
type failure struct{}

func (failure) Error(w http.ResponseWriter, _ *http.Request, err error) {
	http.Error(w, "reach Steve through the tunnel: "+err.Error(), http.StatusBadGateway)
}

// Agent is the end downstream.
type Agent struct {
	Identity
	// Server is the URL of the server.
	Server string
	// Steve is the host and port that may be dialled; nothing else may be.
	Steve string
}

// retryInterval is the pause before a lost tunnel is opened again, as in Rancher's agent.
const retryInterval = 5 * time.Second

// Serve keeps the tunnel open until ctx is done.
func (a *Agent) Serve(ctx context.Context) error {
	config, err := a.load()
	if err != nil {
		return err
	}
	address := strings.Replace(a.Server, "https://", "wss://", 1) + connectPath
	allowed := func(network, address string) bool { return network == "tcp" && address == a.Steve }
	for {
		dialer := &websocket.Dialer{TLSClientConfig: config, HandshakeTimeout: remotedialer.HandshakeTimeOut}
		_ = remotedialer.ConnectToProxy(ctx, address, nil, allowed, dialer, nil) // which logs why it ended
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(retryInterval):
		}
	}
}
