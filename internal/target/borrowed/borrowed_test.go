package borrowed

import (
	"errors"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
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
		"remote error: tls: certificate has expired":                                       "renew the certificate",
		"the server has asked for the client to provide credentials":                       "have expired",
		"dial tcp 10.0.0.1:443: connect: connection refused":                               "is the cluster running",
		"something else": "something else",
	} {
		if got := explain(errors.New(text)).Error(); !strings.Contains(got, want) {
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
