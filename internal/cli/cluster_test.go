package cli

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// kube KUBECONFIG VERB PATH [FILE] makes one request, with a file's JSON as its
// body, and keeps the answer in the file out. "! kube" wants it to be refused.
func kube(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 3 || len(args) > 4 {
		ts.Fatalf("usage: kube KUBECONFIG VERB PATH [FILE]")
	}
	request := clientOf(ts, args[0]).Verb(args[1]).RequestURI(args[2])
	if len(args) == 4 {
		request = request.SetHeader("Content-Type", "application/json").Body([]byte(ts.ReadFile(args[3])))
	}
	answer, err := request.DoRaw(context.Background())
	if (err != nil) != neg {
		ts.Fatalf("%s %s: %v\n%s", args[1], args[2], err, answer)
	}
	ts.Check(os.WriteFile(ts.MkAbs("out"), answer, 0o644))
}

func clientOf(ts *testscript.TestScript, kubeconfig string) rest.Interface {
	config, err := clientcmd.BuildConfigFromFlags("", ts.MkAbs(kubeconfig))
	ts.Check(err)
	client, err := kubernetes.NewForConfig(config)
	ts.Check(err)
	return client.Discovery().RESTClient()
}

// refused KUBECONFIG PATH FILE posts until that is refused, for at most a minute:
// an API server learns of admission policies a while after they are made.
func refused(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: refused KUBECONFIG PATH FILE")
	}
	client := clientOf(ts, args[0])
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		request := client.Post().RequestURI(args[1]).SetHeader("Content-Type", "application/json").Body([]byte(ts.ReadFile(args[2])))
		if _, err := request.DoRaw(context.Background()); err != nil {
			return
		}
	}
	ts.Fatalf("%s is still admitted after a minute", args[1])
}

// credential KIND KUBECONFIG FILE writes a kubeconfig that is another's but for
// one thing: its client certificate has expired, or is of a foreign authority;
// or it takes a foreign authority for that of the server; or its user is unknown.
func credential(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: credential expired|foreign|authority|none KUBECONFIG FILE")
	}
	config, err := clientcmd.LoadFromFile(ts.MkAbs(args[1]))
	ts.Check(err)
	user := config.AuthInfos[config.Contexts[config.CurrentContext].AuthInfo]
	cluster := config.Clusters[config.Contexts[config.CurrentContext].Cluster]
	foreign, foreignKey := newAuthority(ts)
	hourAgo, hourAhead := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	switch args[0] {
	case "expired":
		ca, key := authorityOfPlane(ts)
		user.ClientCertificateData, user.ClientKeyData = newCertificate(ts, ca, key, hourAgo)
	case "foreign":
		user.ClientCertificateData, user.ClientKeyData = newCertificate(ts, foreign, foreignKey, hourAhead)
	case "authority":
		cluster.CertificateAuthorityData = encode("CERTIFICATE", foreign.Raw)
	case "none":
		user.ClientCertificateData, user.ClientKeyData = nil, nil
	default:
		ts.Fatalf("unknown kind %s", args[0])
	}
	ts.Check(clientcmd.WriteToFile(*config, ts.MkAbs(args[2])))
}

// authorityOfPlane reads the authority of the plane that plimsoll up runs.
func authorityOfPlane(ts *testscript.TestScript) (*x509.Certificate, any) {
	found, err := filepath.Glob(ts.MkAbs("cache/workspace-*/work/secrets"))
	ts.Check(err)
	if len(found) != 1 {
		ts.Fatalf("%d planes are up", len(found))
	}
	read := func(name string) []byte {
		block, _ := pem.Decode([]byte(ts.ReadFile(filepath.Join(found[0], name))))
		if block == nil {
			ts.Fatalf("%s is not PEM", name)
		}
		return block.Bytes
	}
	ca, err := x509.ParseCertificate(read("kubernetes-ca.crt"))
	ts.Check(err)
	key, err := x509.ParsePKCS8PrivateKey(read("kubernetes-ca.key"))
	if err != nil {
		key, err = x509.ParseECPrivateKey(read("kubernetes-ca.key"))
	}
	ts.Check(err)
	return ca, key
}

func newAuthority(ts *testscript.TestScript) (*x509.Certificate, *ecdsa.PrivateKey) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ts.Check(err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "foreign"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	ts.Check(err)
	ca, err := x509.ParseCertificate(der)
	ts.Check(err)
	return ca, key
}

// newCertificate makes a client certificate that is valid until a time, and its key.
func newCertificate(ts *testscript.TestScript, ca *x509.Certificate, caKey any, until time.Time) (certificate, key []byte) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ts.Check(err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "eve", Organization: []string{"system:masters"}},
		NotBefore: until.Add(-24 * time.Hour), NotAfter: until,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca, private.Public(), caKey)
	ts.Check(err)
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	ts.Check(err)
	return encode("CERTIFICATE", der), encode("PRIVATE KEY", encoded)
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
