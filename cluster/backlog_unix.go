//go:build unix

package cluster

import (
	"fmt"
	"net"
	"syscall"
)

// shorten makes the queue in which connections wait until they are accepted n long. A longer queue would let many who
// knock keep others waiting for all of them.
func shorten(l net.Listener, n int) error {
	raw, err := l.(syscall.Conn).SyscallConn()
	if err != nil {
		return fmt.Errorf("shorten the queue of connections: %w", err)
	}
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = syscall.Listen(int(fd), n) }); err != nil {
		return fmt.Errorf("shorten the queue of connections: %w", err)
	}
	if failed != nil {
		return fmt.Errorf("shorten the queue of connections: %w", failed)
	}
	return nil
}
