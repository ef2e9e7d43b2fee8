package borrowed

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
)

func TestOnlyClustersForTestsAreLoadedUnasked(t *testing.T) {
	for context, want := range map[string]bool{
		"kind-kind": true, "k3d-dev": true, "minikube": true, "plimsoll": true,
		"production": false, "gke_kind_cluster": false, "": false,
		"arn:aws:eks:eu:1:cluster/kind-of-big": false,
	} {
		// A tunnel to production has an address of this machine.
		target := &Target{context: context, config: &rest.Config{Host: "https://127.0.0.1:6443"}}
		if got := target.IsTest(); got != want {
			t.Errorf("context %q is for tests: %v, want %v", context, got, want)
		}
	}
}

func TestErrorsNameTheWayOut(t *testing.T) {
	for text, want := range map[string]string{
		"tls: failed to verify certificate: x509: certificate signed by unknown authority": "certificate-authority",
		"remote error: tls: certificate has expired":                                       "renew the server's certificate",
		"the server has asked for the client to provide credentials":                       "have expired",
		"dial tcp 10.0.0.1:443: connect: connection refused":                               "is the cluster running",
		"something else": "something else",
	} {
		if got := explain(errors.New(text), &rest.Config{}).Error(); !strings.Contains(got, want) {
			t.Errorf("explain(%q) = %q, want %q in it", text, got, want)
		}
	}
}

func TestWhatHoldsANamespaceIsNamed(t *testing.T) {
	ns := &core.Namespace{}
	ns.Spec.Finalizers = []core.FinalizerName{"example.org/keep"}
	ns.Status.Conditions = []core.NamespaceCondition{
		{Type: core.NamespaceContentRemaining, Status: core.ConditionTrue, Message: "configmaps has 3 resource instances"},
		{Type: core.NamespaceDeletionDiscoveryFailure, Status: core.ConditionFalse, Message: "all is well"},
	}
	got := holding(ns)
	if !strings.Contains(got, "configmaps has 3") || !strings.Contains(got, "finalizer example.org/keep") || strings.Contains(got, "all is well") {
		t.Errorf("holding = %q", got)
	}
}

func TestCertificateThatIsRefusedIsDescribed(t *testing.T) {
	now := time.Now()
	for name, test := range map[string]struct {
		from, until time.Time
		want        string
	}{
		"expired":            {now.Add(-2 * time.Hour), now.Add(-time.Hour), "expired at"},
		"not valid yet":      {now.Add(time.Hour), now.Add(2 * time.Hour), "is valid only from"},
		"of another cluster": {now.Add(-time.Hour), now.Add(time.Hour), "may be of another cluster"},
	} {
		config := &rest.Config{TLSClientConfig: rest.TLSClientConfig{CertData: certificate(t, test.from, test.until)}}
		got := explain(apierrors.NewUnauthorized("Unauthorized"), config).Error()
		if !strings.Contains(got, "client certificate of eve") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q in it", name, got, test.want)
		}
	}
}

func certificate(t *testing.T, from, until time.Time) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "eve"}, NotBefore: from, NotAfter: until}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func TestNeedsReadAsRules(t *testing.T) {
	for want, need := range map[string]Need{
		"create namespaces":                   {Verb: "create", Resource: "namespaces"},
		"create deployments (apps)":           {Verb: "create", Group: "apps", Resource: "deployments"},
		"impersonate users named alice":       Impersonate("alice"),
		"list nodes, as user alice":           {User: "alice", Verb: "list", Resource: "nodes"},
		"delete leases (coordination.k8s.io)": {Verb: "delete", Group: "coordination.k8s.io", Resource: "leases"},
	} {
		if got := need.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
