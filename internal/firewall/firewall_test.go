package firewall

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/nftables"
	"golang.org/x/sys/unix"
)

// machineEnv makes the test binary play a machine of its own.
const machineEnv = "PLIMSOLL_TEST_MACHINE"

func TestMain(m *testing.M) {
	if os.Getenv(machineEnv) != "" {
		if err := beMachine(); err != nil {
			fmt.Println("error:", err)
		}
		return
	}
	os.Exit(m.Run())
}

// beMachine listens on a port of all interfaces, says which, and then does what it
// is told on its standard input, line by line.
func beMachine() error {
	in := bufio.NewScanner(os.Stdin)
	in.Scan() // its cable is there
	for _, args := range []string{"link set lo up", "address add 192.0.2.2/30 dev inside", "address add 2001:db8::2/64 dev inside nodad", "link set inside up"} {
		if err := ip(args); err != nil {
			return err
		}
	}
	listener, err := net.Listen("tcp", ":0")
	if err != nil {
		return err
	}
	go func() {
		for {
			if conn, err := listener.Accept(); err == nil {
				conn.Close()
			}
		}
	}()
	port := listener.Addr().(*net.TCPAddr).Port
	fmt.Println(port)
	var wall io.Closer
	for in.Scan() {
		switch in.Text() {
		case "shut":
			wall, err = Shut(1, uint16(port))
		case "open":
			err = wall.Close()
		case "dial":
			err = errors.Join(dial("127.0.0.1", port), dial("::1", port), dial("192.0.2.2", port))
		}
		fmt.Println(err)
	}
	return nil
}

// ip runs iproute2 in the network of this thread.
func ip(args string) error {
	if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %w: %s", args, err, out)
	}
	return nil
}

func dial(host string, port int) error {
	conn, err := net.DialTimeout("tcp", net.JoinHostPort(host, fmt.Sprint(port)), 300*time.Millisecond)
	if err != nil {
		return err
	}
	return conn.Close()
}

// machine is another process with a network of its own, at the end of a cable.
type machine struct {
	*exec.Cmd
	in      io.Writer
	out     *bufio.Reader
	network int // outlives the process
	port    int
}

// newMachine gives a machine, and the goroutine of the test a network from which
// nothing but that machine can be reached.
func newMachine(t *testing.T) *machine {
	t.Helper()
	if _, err := exec.LookPath("ip"); err != nil || os.Geteuid() != 0 {
		t.Skip("takes root, and iproute2")
	}
	runtime.LockOSThread() // for good: the thread ends with the test
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Skipf("takes a network namespace: %v", err)
	}
	m := &machine{Cmd: exec.Command(os.Args[0])}
	m.Env = append(os.Environ(), machineEnv+"=yes")
	m.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	in, inErr := m.StdinPipe()
	out, outErr := m.StdoutPipe()
	if err := errors.Join(inErr, outErr, m.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.kill)
	m.in, m.out = in, bufio.NewReader(out)
	network, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", m.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { network.Close() })
	m.network = int(network.Fd())
	for _, args := range []string{
		fmt.Sprintf("link add outside type veth peer name inside netns %d", m.Process.Pid),
		"address add 192.0.2.1/30 dev outside", "address add 2001:db8::1/64 dev outside nodad", "link set outside up",
	} {
		if err := ip(args); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := fmt.Sscan(m.tell(t, "the cable is there"), &m.port); err != nil {
		t.Fatal(err)
	}
	return m
}

// tell gives the answer to a line.
func (m *machine) tell(t *testing.T, line string) string {
	t.Helper()
	_, writeErr := fmt.Fprintln(m.in, line)
	answer, readErr := m.out.ReadString('\n')
	if err := errors.Join(writeErr, readErr); err != nil {
		t.Fatalf("told %q it answers %q, %v", line, answer, err)
	}
	return strings.TrimSpace(answer)
}

func (m *machine) must(t *testing.T, line string) {
	t.Helper()
	if answer := m.tell(t, line); answer != "<nil>" {
		t.Fatalf("told %q it answers %q", line, answer)
	}
}

func (m *machine) kill() {
	_ = m.Process.Kill()
	_ = m.Wait()
}

// tables are those in its network.
func (m *machine) tables(t *testing.T) (names []string) {
	t.Helper()
	conn, err := nftables.New(nftables.WithNetNSFd(m.network))
	if err != nil {
		t.Fatal(err)
	}
	tables, err := conn.ListTables()
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		names = append(names, table.Name)
	}
	return names
}

// reach dials the machine at its outer addresses.
func (m *machine) reach() map[string]error {
	answers := map[string]error{}
	for _, host := range []string{"192.0.2.2", "2001:db8::2"} {
		answers[host] = dial(host, m.port)
	}
	return answers
}

// mustBeReached waits, since IPv6 takes a while to settle on a new cable.
func (m *machine) mustBeReached(t *testing.T, when string) {
	t.Helper()
	for start := time.Now(); ; {
		answers := m.reach()
		if answers["192.0.2.2"] == nil && answers["2001:db8::2"] == nil {
			return
		}
		if time.Since(start) > 10*time.Second {
			t.Fatalf("%s it cannot be reached from outside: %v", when, answers)
		}
	}
}

func TestOnlyLoopbackReachesAShutPort(t *testing.T) {
	m := newMachine(t)
	m.mustBeReached(t, "before")
	m.must(t, "shut")
	for host, err := range m.reach() {
		if timeout, ok := errors.AsType[net.Error](err); !ok || !timeout.Timeout() {
			t.Errorf("from outside a dial of %s gives %v", host, err)
		}
	}
	m.must(t, "dial")
	m.must(t, "open")
	m.mustBeReached(t, "opened")
	if tables := m.tables(t); len(tables) > 0 {
		t.Errorf("tables %v are left", tables)
	}
}

func TestNoRuleOutlivesAKilledProcess(t *testing.T) {
	m := newMachine(t)
	m.must(t, "shut")
	if tables := m.tables(t); len(tables) != 1 {
		t.Fatalf("there are tables %v", tables)
	}
	m.kill()
	if tables := m.tables(t); len(tables) > 0 {
		t.Errorf("tables %v are left", tables)
	}
}

// TestWithoutTheRight runs on a thread that has given up all that root may do.
func TestWithoutTheRight(t *testing.T) {
	runtime.LockOSThread() // for good: the thread ends with the test
	none := [2]unix.CapUserData{}
	if err := unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0]); err != nil {
		t.Fatal(err)
	}
	if wall, err := Shut(1); !errors.Is(err, os.ErrPermission) {
		t.Errorf("it gives %v, %v", wall, err)
	}
}
