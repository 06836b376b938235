package chaos

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"time"
)

// launcher starts processes from one thread that lives as long as it does. On Linux a child can be made to end with its
// parent, and there the parent is the thread that started it.
type launcher struct{ starts chan start }

type start struct {
	command *exec.Cmd
	done    chan error
}

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

func (n *launcher) close() { close(n.starts) }

// process is a started process.
type process struct {
	command *exec.Cmd
	began   time.Time
	ended   chan struct{} // closed when the process has ended
}

// start runs a program. log gets its output.
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

// stop asks the process to end, and kills it if it takes longer than patience.
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
