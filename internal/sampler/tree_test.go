package sampler

import (
	"math"
	"os"
	"os/exec"
	"testing"
	"time"

	"plimsoll.dev/plimsoll/internal/target"
)

func TestATreeIsCountedWithItsDescendants(t *testing.T) {
	// One descendant has ended, one works, one sleeps.
	cmd := exec.Command("/bin/sh", "-c", `
		sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'
		sh -c 'while :; do :; done' & sleep 60 & wait`)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		for pid := range readStats() {
			if all := readStats(); pid != cmd.Process.Pid && descends(all, pid, cmd.Process.Pid) {
				if p, err := os.FindProcess(pid); err == nil {
					_ = p.Kill()
				}
			}
		}
		_ = cmd.Wait()
	}()
	var got tree
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if got = readTree(cmd.Process.Pid); got.threads == 3 && got.cpu > 0.3 {
			break
		}
	}
	if got.threads != 3 || got.cpu <= 0.3 || got.files < 6 || got.resident < 64<<10 {
		t.Errorf("the tree is %+v", got)
	}
	meter := NewMeter(t.Context(), []target.Process{{PID: cmd.Process.Pid, Tree: true}})
	time.Sleep(300 * time.Millisecond)
	if cpus := meter.Read(t.Context()); cpus <= 0 || cpus > 2 {
		t.Errorf("the tree uses %v CPUs", cpus)
	}
	if gone := readTree(math.MaxInt32); gone.threads != 0 {
		t.Errorf("a process that is not there uses %+v", gone)
	}
}

func TestNamesOfProcessesDoNotConfuse(t *testing.T) {
	s, ok := parseStat([]byte("7 (a) b (c) S 3 7 7 0 -1 0 0 0 0 0 10 20 30 40 20 0 5 0 100 0 0\n"))
	if want := (stat{parent: 3, cpu: 1, threads: 5}); !ok || s != want {
		t.Errorf("got %+v, %v", s, ok)
	}
	if _, ok := parseStat([]byte("nonsense")); ok {
		t.Error("nonsense is a process")
	}
}
