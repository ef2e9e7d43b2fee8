// Package firewall keeps other machines away from ports of this one.
package firewall

import "io"

// Shut lets TCP ports of this process's network, of which at least one is given,
// be reached through the loopback interface only, whatever addresses they are listened on, until the result is
// closed or the process ends, even by a kill. That takes root (CAP_NET_ADMIN) and
// nf_tables in a Linux of 5.12 or newer; otherwise nothing is changed, and the error
// says why.
func Shut(ports ...uint16) (io.Closer, error) { return shut(ports) }
