//go:build unix

package disk

import "syscall"

// The flags with which files of a run are opened: a pipe does not make the process wait, and a link is not followed.
const (
	patient = syscall.O_NONBLOCK
	direct  = syscall.O_NOFOLLOW
)
