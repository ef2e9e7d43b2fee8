package local

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"plimsoll.dev/plimsoll/api/v1alpha1"
)

const (
	apiserverPart = "kube-apiserver"
	serviceRange  = "10.96.0.0/16"
	serviceIP     = "10.96.0.1" // the first of serviceRange, which the service "kubernetes" gets
)

// buildAPIServer gives the API server as kubeadm would configure it, but on
// loopback. Auditing is off unless the document asks for it, priority and
// fairness is on, by its own defaults.
func buildAPIServer(p *plane) component {
	own := flags{
		{"bind-address", loopbackIP},
		{"advertise-address", loopbackIP},
		{"secure-port", fmt.Sprint(p.ports.apiserver)},
		{"endpoint-reconciler-type", "none"}, // endpoints must not be on loopback: it would log an error every ten seconds
		{"etcd-servers", strings.Join(p.ports.datastoreURLs(), ",")},
		{"etcd-cafile", p.keys.certFile(etcdCA)},
		{"etcd-certfile", p.keys.certFile(etcdClient)},
		{"etcd-keyfile", p.keys.keyFile(etcdClient)},
		{"storage-media-type", "application/vnd.kubernetes.protobuf"},
		{"cert-dir", p.keys.dir},
		{"tls-cert-file", p.keys.certFile(apiserverServer)},
		{"tls-private-key-file", p.keys.keyFile(apiserverServer)},
		{"client-ca-file", p.keys.certFile(kubernetesCA)},
		{"requestheader-client-ca-file", p.keys.certFile(frontProxyCA)},
		{"requestheader-allowed-names", frontProxyClient},
		{"requestheader-username-headers", "X-Remote-User"},
		{"requestheader-group-headers", "X-Remote-Group"},
		{"requestheader-extra-headers-prefix", "X-Remote-Extra-"},
		{"proxy-client-cert-file", p.keys.certFile(frontProxyClient)},
		{"proxy-client-key-file", p.keys.keyFile(frontProxyClient)},
		{"service-account-issuer", "https://kubernetes.default.svc.cluster.local"},
		{"service-account-key-file", p.keys.certFile(serviceAccount)},
		{"service-account-signing-key-file", p.keys.keyFile(serviceAccount)},
		{"authorization-mode", "Node,RBAC"},
		{"enable-admission-plugins", "NodeRestriction"},
		{"service-cluster-ip-range", serviceRange},
		{"allow-privileged", "true"},
	}
	var needs string
	if p.server.Path != "" {
		needs = kinePart // an API server gives up after 20s, and the making of a database may take some of them
	}
	return component{
		name: apiserverPart, flags: slices.Concat(own, p.audit.flags()), document: []v1alpha1.Flags{p.spec.KubeAPIServer.Flags}, needs: needs,
		ready: p.ports.apiserverURL() + "/readyz", metrics: p.ports.apiserverURL() + "/metrics", ca: kubernetesCA, observer: adminClient,
		profiles:     p.ports.apiserverURL() + "/debug/pprof", // which are on by default
		readyTimeout: time.Minute, grace: 10 * time.Second, layer: apiLayer,
		// Some 13,000 series, at 40 ms of its CPU.
		scrapeInterval: 5 * time.Second,
	}
}
