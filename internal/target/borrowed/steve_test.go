package borrowed

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll.dev/plimsoll/api/v1alpha1"
)

const secret = "token-xyz:geheim"

// guarded is a Steve behind a login, below a path, and beside it what is none.
func guarded(w http.ResponseWriter, r *http.Request) {
	switch {
	case !strings.HasPrefix(r.URL.Path, "/k8s/clusters/c-1/"):
		_, _ = w.Write([]byte("<html>the dashboard</html>"))
	case r.Header.Get("Authorization") != "Bearer "+secret:
		http.Error(w, "must authenticate", http.StatusUnauthorized)
	default:
		_, _ = w.Write([]byte(`{"id":"configmap","type":"schema"}`))
	}
}

func TestSomebodysSteve(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(guarded))
	defer server.Close()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	right, wrong, empty := file("right", secret+"\n"), file("wrong", "token-abc:falsch"), file("empty", "\n")
	t.Setenv("STEVE_TOKEN", secret)
	cluster := server.URL + "/k8s/clusters/c-1"
	for _, row := range []struct {
		name  string
		steve v1alpha1.BorrowedSteve
		want  string // empty: it is taken
	}{
		{"with the token of a file", v1alpha1.BorrowedSteve{URL: cluster, TokenFile: right, Insecure: true}, ""},
		{"with a slash at its end", v1alpha1.BorrowedSteve{URL: cluster + "/", TokenFile: right, Insecure: true}, ""},
		{"with the token of a variable", v1alpha1.BorrowedSteve{URL: cluster, TokenEnv: "STEVE_TOKEN", Insecure: true}, ""},
		{"with another token", v1alpha1.BorrowedSteve{URL: cluster, TokenFile: wrong, Insecure: true}, "401 Unauthorized to the token in " + wrong},
		{"without a token", v1alpha1.BorrowedSteve{URL: cluster, Insecure: true}, "without a token: name one with tokenFile or tokenEnv"},
		{"with an empty file", v1alpha1.BorrowedSteve{URL: cluster, TokenFile: empty, Insecure: true}, "there is none in " + empty},
		{"with an unset variable", v1alpha1.BorrowedSteve{URL: cluster, TokenEnv: "NO_SUCH_TOKEN"}, "there is none in $NO_SUCH_TOKEN"},
		{"with a file that is not there", v1alpha1.BorrowedSteve{URL: cluster, TokenFile: filepath.Join(dir, "nowhere")}, "no such file"},
		{"that is none", v1alpha1.BorrowedSteve{URL: server.URL, TokenFile: right, Insecure: true}, "what answers there is no Steve"},
		{"with a certificate of its own", v1alpha1.BorrowedSteve{URL: cluster, TokenFile: right}, "insecure: true"},
		{"that is not there", v1alpha1.BorrowedSteve{URL: "https://127.0.0.1:1", TokenFile: right}, "connection refused: is it running"},
	} {
		_, err := openSteve(t.Context(), row.steve)
		if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
			t.Errorf("a Steve %s: %v; want %q", row.name, err, row.want)
		}
		if err != nil && (strings.Contains(err.Error(), "geheim") || strings.Contains(err.Error(), "falsch")) {
			t.Errorf("the error tells the token: %v", err)
		}
	}
}
