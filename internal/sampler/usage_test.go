package sampler

import (
	"math"
	"os/exec"
	"syscall"
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
		for _, p := range tree(cmd.Process.Pid) {
			if p.PID != cmd.Process.Pid {
				_ = syscall.Kill(p.PID, syscall.SIGKILL)
			}
		}
		_ = cmd.Wait()
	}()
	var got usage
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if got = readTree(cmd.Process.Pid); got.threads == 3 && got.cpu > 0.3 {
			break
		}
	}
	if got.threads != 3 || got.cpu <= 0.3 || got.files < 6 || got.resident < 64<<10 {
		t.Errorf("the tree is %+v", got)
	}
	meter := NewMeter([]target.Process{{PID: cmd.Process.Pid, Tree: true}})
	time.Sleep(300 * time.Millisecond)
	if cpus := meter.Read(); cpus <= 0 || cpus > 2 {
		t.Errorf("the tree uses %v CPUs", cpus)
	}
	if gone := readTree(math.MaxInt32); gone.threads != 0 {
		t.Errorf("a process that is not there uses %+v", gone)
	}
}
