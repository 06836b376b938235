package chaos

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"time"
)

// launcher starts processes from one thread that lives as long as it does. On Linux a child can be made to end
// with its parent, and there the parent is the thread that started it: a thread of the Go runtime may end
// earlier.
type launcher struct{ starts chan start }

// start is a command to be started; done gets the error.
type start struct {
	command *exec.Cmd
	done    chan error
}

// newLauncher starts the thread; close ends it.
func newLauncher() *launcher {
	n := &launcher{starts: make(chan start)}
	go func() {
		runtime.LockOSThread()
		for s := range n.starts {
			s.done <- s.command.Start()
		}
	}()
	return n
}

// close ends the thread, and on Linux with it all processes that still run.
func (n *launcher) close() { close(n.starts) }

// process is a started process. Its end is waited for by a goroutine.
type process struct {
	command *exec.Cmd
	began   time.Time
	ended   chan struct{} // closed when the process has ended
}

// start runs a program and returns as soon as it runs. log gets its output and errors.
func (n *launcher) start(program string, arguments, environ []string, log *os.File) (*process, error) {
	c := exec.Command(program, arguments...)
	c.Env, c.Stdout, c.Stderr = environ, log, log
	alone(c)
	s := start{c, make(chan error, 1)}
	n.starts <- s
	if err := <-s.done; err != nil {
		return nil, fmt.Errorf("start %s: %w", arguments[0], err)
	}
	p := &process{command: c, began: time.Now(), ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		_ = c.Wait() // the process state says how it ended
	}()
	return p, nil
}

func (p *process) pid() int { return p.command.Process.Pid }

// running reports whether the process has not ended yet.
func (p *process) running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// signal sends a signal. A signal to a process that has ended is no error.
func (p *process) signal(s os.Signal) error {
	if err := p.command.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal process %d: %w", p.pid(), err)
	}
	return nil
}

// kill kills the process and waits for its end.
func (p *process) kill() error {
	err := p.signal(os.Kill)
	<-p.ended
	return err
}

// stop asks the process to end, and kills it if it takes longer than patience, which is an error. A paused
// process is continued first.
func (p *process) stop(patience time.Duration) error {
	if err := errors.Join(p.signal(proceed), p.signal(terminate)); err != nil {
		return err
	}
	select {
	case <-p.ended:
		return nil
	case <-time.After(patience):
		return errors.Join(fmt.Errorf("process %d does not end within %v", p.pid(), patience), p.kill())
	}
}
