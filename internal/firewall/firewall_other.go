//go:build !linux

package firewall

import (
	"fmt"
	"io"
	"runtime"
)

func shut([]uint16) (io.Closer, error) {
	return nil, fmt.Errorf("plimsoll has no firewall for %s", runtime.GOOS)
}
