//go:build !linux

package chaos

import "os/exec"

// alone does nothing where a process cannot be made to die with this one.
func alone(*exec.Cmd) {}
