//go:build unix

package chaos

import "syscall"

// The signals that pause a process, continue it and ask it to end.
const (
	halt      = syscall.SIGSTOP
	proceed   = syscall.SIGCONT
	terminate = syscall.SIGTERM
)
