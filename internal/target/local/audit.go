package local

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sys/unix"

	"plimsoll.dev/plimsoll/api/v1alpha1"
)

const (
	auditPolicyFile = "audit-policy.yaml"
	auditPipeFile   = "audit.pipe"
)

// auditPolicy tells of the answer of every request; of what lasts, such as a
// watch, when the answer begins and when it ends.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules: [{level: Metadata}]
`

// audit counts what an API server tells of its requests. The server writes into
// a named pipe, so nothing of it reaches a disk, and waits when the pipe is
// full, so nothing is lost.
type audit struct {
	policy, path string
	pipe         *os.File
	requests     *prometheus.CounterVec
	series       map[[5]string]prometheus.Counter
	damaged      prometheus.Counter
	ended        chan struct{}
}

// startAudit makes the policy and the pipe in a folder and counts until close.
func startAudit(dir string, registry prometheus.Registerer) (*audit, error) {
	a := &audit{
		policy: filepath.Join(dir, auditPolicyFile), path: filepath.Join(dir, auditPipeFile),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "plimsoll_audit_requests_total", Help: "Requests that the API server tells of in its audit log.",
		}, []string{"user", "agent", "verb", "resource", "code"}),
		damaged: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "plimsoll_audit_damaged_total", Help: "Lines of the audit log that are no events.",
		}),
		series: map[[5]string]prometheus.Counter{}, ended: make(chan struct{}),
	}
	if err := os.WriteFile(a.policy, []byte(auditPolicy), 0o600); err != nil {
		return nil, fmt.Errorf("write the audit policy: %w", err)
	}
	if err := unix.Mkfifo(a.path, 0o600); err != nil {
		return nil, fmt.Errorf("make a pipe for the audit log: %w", err)
	}
	var err error
	// Opened for both, the pipe is there before the server and does not end with it.
	if a.pipe, err = os.OpenFile(a.path, os.O_RDWR, 0); err != nil {
		return nil, fmt.Errorf("open the pipe of the audit log: %w", err)
	}
	widen(a.pipe)
	for _, c := range []prometheus.Collector{a.requests, a.damaged} {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	go func() {
		defer close(a.ended)
		a.read(a.pipe)
	}()
	return a, nil
}

// flags of the API server. A size of 0 means that the file is never replaced by another.
func (a *audit) flags() flags {
	if a == nil {
		return nil
	}
	return flags{{"audit-policy-file", a.policy}, {"audit-log-path", a.path}, {"audit-log-maxsize", "0"}}
}

func (a *audit) close() error {
	if a == nil {
		return nil
	}
	err := a.pipe.Close()
	<-a.ended
	return err
}

// longestEvent bounds a line; at the level of metadata they have some 1 KB.
const longestEvent = 1 << 20

// read counts events until the pipe is closed.
func (a *audit) read(from io.Reader) {
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 64<<10), longestEvent)
	for lines.Scan() {
		var e auditEvent
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			a.damaged.Inc()
			continue
		}
		if e.counts() {
			a.count(e)
		}
	}
	if lines.Err() != nil { // a server must not wait for a reader that has given up
		_, _ = io.Copy(io.Discard, from)
	}
}

// auditEvent is what is read of an event.
type auditEvent struct {
	Stage, Verb, UserAgent string
	User                   struct{ Username string }
	ObjectRef              struct{ Resource, Subresource string }
	ResponseStatus         struct{ Code int }
}

// counts says whether the event is the one by which its request counts. What
// lasts is counted when its answer begins: it may outlast the run.
func (e auditEvent) counts() bool {
	switch e.Stage {
	case "ResponseStarted", "Panic": // the first is told of what lasts only
		return true
	case "ResponseComplete":
		return !e.lasts()
	}
	return false
}

// lasts is what kube-apiserver takes for long-running.
func (e auditEvent) lasts() bool {
	switch e.Verb {
	case "watch", "proxy":
		return true
	}
	switch e.ObjectRef.Subresource {
	case "attach", "exec", "proxy", "log", "portforward":
		return true
	}
	return false
}

// mostAudited bounds how many series there can be: users and agents name themselves.
const mostAudited = 5000

func (a *audit) count(e auditEvent) {
	key := [5]string{e.User.Username, agent(e.UserAgent), e.Verb, e.ObjectRef.Resource, strconv.Itoa(e.ResponseStatus.Code)}
	if a.series[key] == nil && len(a.series) >= mostAudited {
		key = [5]string{"other", "other", "other", "other", key[4]}
	}
	if a.series[key] == nil {
		a.series[key] = a.requests.WithLabelValues(key[:]...)
	}
	a.series[key].Inc()
}

// agent is the program that a user agent begins with: kube-scheduler/v1.36.3
// (linux/amd64) … is kube-scheduler.
func agent(userAgent string) string {
	name, _, _ := strings.Cut(userAgent, "/")
	name, _, _ = strings.Cut(name, " ")
	return name
}

// audits says whether the API server is to tell of its requests.
func audits(spec v1alpha1.LocalTarget) bool {
	return spec.KubeAPIServer.On() && spec.KubeAPIServer.Audit != ""
}

// pipeSize holds a second of events of a busy API server.
const pipeSize = 1 << 20

// widen lets a pipe hold more than the 64 KiB of default, if the system allows it.
func widen(pipe *os.File) {
	if raw, err := pipe.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeSize) })
	}
}
