package local

import (
	"errors"
	"fmt"
	"net"
	"strconv"

	psnet "github.com/shirou/gopsutil/v4/net"
	psprocess "github.com/shirou/gopsutil/v4/process"

	"plimsoll.dev/plimsoll/api/v1alpha1"
)

const loopbackIP = "127.0.0.1"

// ports of one attempt to boot.
type ports struct {
	etcdClients, etcdPeers, etcdMetrics []int // one for each member
	apiserver                           int
	kine, kineMetrics, database         int
	steve, steveHTTP                    int
	steveMetrics, steveProfiles         int
	tunnel                              int
	controllerManager, scheduler, kwok  int
}

// datastoreURLs are where etcd's API is served.
func (p ports) datastoreURLs() []string {
	if p.kine != 0 {
		return []string{loopback(p.kine)}
	}
	var urls []string
	for _, port := range p.etcdClients {
		urls = append(urls, loopback(port))
	}
	return urls
}

func (p ports) apiserverURL() string { return loopback(p.apiserver) }

func loopback(port int) string { return "https://" + address(port) }

func address(port int) string { return net.JoinHostPort(loopbackIP, strconv.Itoa(port)) }

// choosePorts takes the documents' ports, if nobody else has them, and lets the
// kernel choose the others. All are held until all are chosen, so that they differ.
func choosePorts(specs ...v1alpha1.LocalTarget) ([]ports, error) {
	var held []net.Listener
	defer func() {
		for _, l := range held {
			l.Close()
		}
	}()
	var err error
	take := func(owner string, wanted int) int {
		l, listenErr := net.Listen("tcp", address(wanted))
		if listenErr != nil {
			err = errors.Join(err, portError(owner, wanted, listenErr))
			return 0
		}
		held = append(held, l)
		return l.Addr().(*net.TCPAddr).Port
	}
	var all []ports
	for _, spec := range specs {
		all = append(all, portsOf(spec, take))
	}
	return all, err
}

// portsOf takes the ports of one control plane.
func portsOf(spec v1alpha1.LocalTarget, take func(owner string, wanted int) int) (p ports) {
	if spec.KubeAPIServer.On() {
		p.apiserver = take(apiserverPart, spec.KubeAPIServer.Port)
	}
	for i := range etcdMembers(spec) {
		wanted := 0
		if i == 0 {
			wanted = etcdSpec(spec).Port
		}
		p.etcdClients = append(p.etcdClients, take(etcdPart, wanted))
		p.etcdPeers = append(p.etcdPeers, take(etcdPart, 0))
		p.etcdMetrics = append(p.etcdMetrics, take(etcdPart, 0))
	}
	if kine := spec.Datastore.Kine; kine != nil {
		p.kine, p.kineMetrics = take(kinePart, 0), take(kinePart, 0)
		if ownServer(kine) {
			p.database = take(string(kine.Backend), 0)
		}
	}
	if spec.KubeControllerManager != nil {
		p.controllerManager = take(controllerManagerPart, 0)
	}
	if spec.KubeScheduler != nil {
		p.scheduler = take(schedulerPart, 0)
	}
	if spec.Kwok != nil {
		p.kwok = take(kwokPart, 0)
	}
	if spec.Steve != nil {
		p.steve, p.steveHTTP = take(stevePart, 0), take(stevePart, 0)
		p.steveMetrics, p.steveProfiles = take(stevePart, 0), take(stevePart, 0)
	}
	if spec.Downstream != nil {
		p.tunnel = take(tunnelServer, 0)
	}
	return p
}

func portError(owner string, port int, err error) error {
	if port == 0 {
		return fmt.Errorf("find a free port for %s: %w", owner, err)
	}
	if holder := portHolder(port); holder != "" {
		return fmt.Errorf("port %d, which the scenario wants for %s, is taken by %s", port, owner, holder)
	}
	return fmt.Errorf("port %d, which the scenario wants for %s, cannot be had: %w", port, owner, err)
}

// portHolder names the process that listens on a port, if it may be known.
func portHolder(port int) string {
	connections, err := psnet.Connections("tcp")
	if err != nil {
		return ""
	}
	for _, c := range connections {
		if c.Laddr.Port != uint32(port) || c.Status != "LISTEN" || c.Pid == 0 {
			continue
		}
		if p, err := psprocess.NewProcess(c.Pid); err == nil {
			if name, err := p.Name(); err == nil {
				return fmt.Sprintf("process %d (%s)", c.Pid, name)
			}
		}
		return fmt.Sprintf("process %d", c.Pid)
	}
	return ""
}
