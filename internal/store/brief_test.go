package store

import "testing"

func TestLogLinesAreBrief(t *testing.T) {
	for text, want := range map[string]string{
		`{"level":"warn","ts":"2026-11-21T09:54:19.055068Z","caller":"txn/util.go:93","msg":"apply request took too long","took":"307.5ms","expected-duration":"100ms","request":"key"}`: "warn: apply request took too long (took 307.5ms, expected-duration 100ms)",
		`W1121 09:54:19.967243   20806 logging.go:55] [core] grpc: addrConn failed`:                                                                                                      "warn: [core] grpc: addrConn failed",
		"something   else\tentirely": "something else entirely",
		"{not json":                  "{not json",
	} {
		if got := (LogLine{Text: text}).Brief(130); got != want {
			t.Errorf("brief of %s is %q, want %q", text, got, want)
		}
	}
	if got := (LogLine{Text: "äääää"}).Brief(3); got != "ää…" {
		t.Errorf("got %q, want whole letters", got)
	}
}
