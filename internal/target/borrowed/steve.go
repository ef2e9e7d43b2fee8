package borrowed

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"k8s.io/client-go/rest"

	"plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/target"
)

// withSteve is a borrowed cluster with a Steve in front of it.
type withSteve struct{ *Target }

var _ target.Steve = withSteve{}

// Steve gives the way to somebody's Steve, with the token that the document names.
func (t withSteve) Steve() (*rest.Config, error) { return rest.CopyConfig(t.steve), nil }

// schemaPath is what every Steve serves, and nothing else does.
const schemaPath = "/v1/schemas/configmap"

// openSteve reads the token, which is neither kept nor shown anywhere, and asks
// whether a Steve is there that takes it.
func openSteve(ctx context.Context, spec v1alpha1.BorrowedSteve) (*rest.Config, error) {
	config := &rest.Config{
		Host: strings.TrimSuffix(spec.URL, "/"), QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{CAFile: spec.CA, Insecure: spec.Insecure},
	}
	var err error
	if config.BearerToken, err = readToken(spec); err != nil {
		return nil, err
	}
	if err := askSteve(ctx, config, spec); err != nil {
		return nil, fmt.Errorf("reach Steve at %s: %w", config.Host, err)
	}
	return config, nil
}

func readToken(spec v1alpha1.BorrowedSteve) (string, error) {
	var token string
	switch {
	case spec.TokenFile != "":
		text, err := os.ReadFile(spec.TokenFile)
		if err != nil {
			return "", fmt.Errorf("read the token for Steve: %w", err)
		}
		token = strings.TrimSpace(string(text))
	case spec.TokenEnv != "":
		token = strings.TrimSpace(os.Getenv(spec.TokenEnv))
	default:
		return "", nil
	}
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("read the token for Steve: there is none in %s", tokenPlace(spec))
	}
	return token, nil
}

// askSteve asks for what a Steve says of ConfigMaps.
func askSteve(ctx context.Context, config *rest.Config, spec v1alpha1.BorrowedSteve) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host+schemaPath, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return explainSteve(err)
	}
	defer response.Body.Close()
	var schema struct{ ID, Type string }
	undecoded := json.NewDecoder(io.LimitReader(response.Body, 1<<20)).Decode(&schema)
	switch {
	case response.StatusCode == http.StatusUnauthorized, response.StatusCode == http.StatusForbidden:
		return fmt.Errorf("it answers %s to %s", response.Status, tokenInWords(spec))
	case response.StatusCode != http.StatusOK, undecoded != nil, schema.ID != "configmap", schema.Type != "schema":
		return fmt.Errorf("what answers there is no Steve, or does not know ConfigMaps: GET %s gives %s; url is what /v1 is below, such as https://rancher.example.org/k8s/clusters/ID",
			schemaPath, response.Status)
	}
	return nil
}

// tokenInWords says where a token is from, and never what it is.
func tokenInWords(spec v1alpha1.BorrowedSteve) string {
	if spec.TokenFile == "" && spec.TokenEnv == "" {
		return "a request without a token: name one with tokenFile or tokenEnv"
	}
	return "the token in " + tokenPlace(spec)
}

func tokenPlace(spec v1alpha1.BorrowedSteve) string {
	if spec.TokenFile != "" {
		return spec.TokenFile
	}
	return "$" + spec.TokenEnv
}

// explainSteve adds the way out to what the network and TLS say.
func explainSteve(err error) error {
	way := ""
	for _, known := range []struct{ text, way string }{
		{"certificate signed by unknown authority", "name its authority's file (ca) or, for a certificate that Steve has made for itself, set insecure: true"},
		{"certificate is valid for", "the server's certificate is for other addresses: use one of them, or set insecure: true"},
		{"HTTP response to HTTPS client", "the server speaks http: write http:// in url, or name another port"},
		{"connection refused", "is it running, and is this its port?"},
		{"no such host", "is the name right?"},
		{"deadline exceeded", "is it running, and does a firewall let requests through?"},
	} {
		if strings.Contains(err.Error(), known.text) {
			way = known.way
		}
	}
	if way == "" {
		return err
	}
	return fmt.Errorf("%w: %s", err, way)
}
