package chaos

import (
	"os/exec"
	"syscall"
)

// alone keeps the terminal's Ctrl-C from the process, and lets it die with this one however that ends.
func alone(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
