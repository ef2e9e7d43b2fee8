package null

import (
	"context"
	"io"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

func TestTheServerAnswersWithSoManyBytes(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	file := filepath.Join(t.TempDir(), "address")
	go func() { served <- Server{Answer: 200, AddressFile: file}.Serve(ctx) }()
	var target Target
	for tries := 0; target.connect(ctx, file) != nil; tries++ {
		if tries == 500 {
			t.Fatal("it does not answer")
		}
		time.Sleep(10 * time.Millisecond)
	}
	client, err := rest.HTTPClientFor(&target.config)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Post(target.config.Host+"/api/v1/pods", "application/json", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	response.Body.Close()
	if err != nil || len(body) != 200 || response.StatusCode != http.StatusCreated || response.ProtoMajor != 2 {
		t.Errorf("it answers %s over %s with %d bytes, %v", response.Status, response.Proto, len(body), err)
	}
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
}
