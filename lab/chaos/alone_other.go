//go:build !linux

package chaos

import "os/exec"

// alone does nothing: on this system a process cannot be made to end with its parent.
func alone(*exec.Cmd) {}
