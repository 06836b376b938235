//go:build unix

package chaos

import "syscall"

// The signals that stop a process for a while, let it go on and ask it to end.
const (
	halt      = syscall.SIGSTOP
	proceed   = syscall.SIGCONT
	terminate = syscall.SIGTERM
)
