package chaos

import (
	"os/exec"
	"syscall"
)

// alone protects the process from Ctrl-C at the terminal, and lets it end when this process ends in any way.
func alone(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
