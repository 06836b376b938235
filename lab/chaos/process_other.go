//go:build !unix

package chaos

import "syscall"

// Without signals a process can only be killed: pausing it fails.
const (
	halt      = syscall.SIGINT
	proceed   = syscall.SIGINT
	terminate = syscall.SIGTERM
)
