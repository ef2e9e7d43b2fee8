// Package firewall keeps other machines away from ports of this one.
package firewall

import (
	"fmt"
	"io"
	"os"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// Shut lets TCP ports of this process's network, of which at least one is given, be
// reached through the loopback interface only, whatever addresses they are listened
// on, until the result is closed or the process ends, even by a kill. That takes root
// (CAP_NET_ADMIN) and nf_tables in a Linux of 5.12 or newer; otherwise nothing is
// changed, and the error says why.
//
// The rules are in a table that the kernel ties to the socket by which it was made:
// it lets nobody else change the table, and removes it with the socket.
func Shut(ports ...uint16) (io.Closer, error) {
	// The name is unique: no two processes that share a network hold the same port.
	table := &nftables.Table{Family: nftables.TableFamilyINet, Name: fmt.Sprintf("plimsoll-%d-%d", os.Getpid(), ports[0])}
	conn, err := nftables.New(nftables.AsLasting(), nftables.WithSockOptions(func(socket *netlink.Conn) error { return own(socket, table) }))
	if err != nil {
		return nil, fmt.Errorf("make nftables' table %s: %w", table.Name, err)
	}
	input := conn.AddChain(&nftables.Chain{
		Name: "input", Table: table, Type: nftables.ChainTypeFilter,
		Hooknum: nftables.ChainHookInput, Priority: nftables.ChainPriorityFilter,
	})
	for _, port := range ports {
		conn.AddRule(&nftables.Rule{Table: table, Chain: input, Exprs: dropFromOutside(port)})
	}
	if err := conn.Flush(); err != nil {
		_ = conn.CloseLasting()
		return nil, fmt.Errorf("fill nftables' table %s: %w", table.Name, err)
	}
	return wall{conn}, nil
}

// wall is a table that stands as long as its socket.
type wall struct{ conn *nftables.Conn }

func (w wall) Close() error { return w.conn.CloseLasting() }

// tableOwner is NFT_TABLE_F_OWNER of linux/netfilter/nf_tables.h, which
// golang.org/x/sys lacks.
const tableOwner = 0x2

// own makes a table that belongs to the socket, which it closes if it cannot.
// nftables v0.3.0 makes all tables without flags, hence this one message of our own.
func own(socket *netlink.Conn, table *nftables.Table) (err error) {
	defer func() {
		if err != nil {
			_ = socket.Close()
		}
	}()
	attributes, err := netlink.MarshalAttributes([]netlink.Attribute{
		{Type: unix.NFTA_TABLE_NAME, Data: append([]byte(table.Name), 0)},
		{Type: unix.NFTA_TABLE_FLAGS, Data: binaryutil.BigEndian.PutUint32(tableOwner)},
	})
	if err != nil {
		return err
	}
	const create = netlink.Request | netlink.Acknowledge | netlink.Create | netlink.Excl
	if _, err = socket.SendMessages([]netlink.Message{
		message(unix.NFNL_MSG_BATCH_BEGIN, netlink.Request, unix.AF_UNSPEC, unix.NFNL_SUBSYS_NFTABLES, nil),
		message(unix.NFNL_SUBSYS_NFTABLES<<8|unix.NFT_MSG_NEWTABLE, create, byte(table.Family), 0, attributes),
		message(unix.NFNL_MSG_BATCH_END, netlink.Request, unix.AF_UNSPEC, unix.NFNL_SUBSYS_NFTABLES, nil),
	}); err != nil {
		return err
	}
	_, err = socket.Receive() // the acknowledgement, or what is wrong
	return err
}

// message gives one of netfilter's, which begins with a struct nfgenmsg.
func message(kind netlink.HeaderType, flags netlink.HeaderFlags, family byte, resource uint16, attributes []byte) netlink.Message {
	header := append([]byte{family, unix.NFNETLINK_V0}, binaryutil.BigEndian.PutUint16(resource)...)
	return netlink.Message{Header: netlink.Header{Type: kind, Flags: flags}, Data: append(header, attributes...)}
}

// dropFromOutside is what nft writes as
//
//	meta iiftype != loopback tcp dport PORT drop
//
// What this machine sends to any of its own addresses comes in by loopback.
func dropFromOutside(port uint16) []expr.Any {
	return []expr.Any{
		&expr.Meta{Key: expr.MetaKeyIIFTYPE, Register: 1},
		&expr.Cmp{Op: expr.CmpOpNeq, Register: 1, Data: binaryutil.NativeEndian.PutUint16(unix.ARPHRD_LOOPBACK)},
		&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: 1},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: []byte{unix.IPPROTO_TCP}},
		&expr.Payload{Base: expr.PayloadBaseTransportHeader, Offset: 2, Len: 2, DestRegister: 1}, // the destination
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: binaryutil.BigEndian.PutUint16(port)},
		&expr.Verdict{Kind: expr.VerdictDrop},
	}
}
