//go:build !unix

package chaos

import "syscall"

// Where there are no signals, processes can only be killed: stopping one for a while fails.
const (
	halt      = syscall.SIGINT
	proceed   = syscall.SIGINT
	terminate = syscall.SIGTERM
)
