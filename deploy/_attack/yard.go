package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

// yard is the cluster under attack.
type yard struct {
	options
	keys, runs, logs, url, page string
	temporary                   bool
	name                        string // of the run

	mu        sync.Mutex
	processes map[string]*process // by name
}

// process is a part of the cluster. ended is closed when it has ended.
type process struct {
	command *exec.Cmd
	ended   chan struct{}
}

func open(ctx context.Context, o options) (*yard, error) {
	y := &yard{options: o, name: "attacked", processes: map[string]*process{}}
	err := y.folders()
	if err == nil {
		args := []string{"init", "--dir", y.keys}
		for _, name := range append(y.honest(), "late", "thief") {
			args = append(args, "--worker", name)
		}
		_, err = y.command(ctx, args...)
	}
	if err == nil {
		err = y.found()
	}
	if err != nil {
		y.close()
		return nil, err
	}
	return y, nil
}

func (y *yard) folders() (err error) {
	if y.dir == "" {
		if y.dir, err = os.MkdirTemp("", "attack-"); err != nil {
			return err
		}
		y.temporary = true
	}
	if y.binary, err = filepath.Abs(y.binary); err != nil {
		return err
	}
	y.keys, y.runs, y.logs = filepath.Join(y.dir, "keys"), filepath.Join(y.dir, "runs"), filepath.Join(y.dir, "logs")
	return errors.Join(os.MkdirAll(y.runs, 0o755), os.MkdirAll(y.logs, 0o755))
}

// found starts broker, coordinator and honest workers.
func (y *yard) found() error {
	address, err := free()
	if err == nil {
		y.page, err = free()
	}
	if err != nil {
		return err
	}
	y.url = "nats://" + address
	err = errors.Join(y.start("broker", "broker", "--listen", address, "--keys", y.keys), y.lead())
	for _, name := range y.honest() {
		err = errors.Join(err, y.hire(name))
	}
	return err
}

func (y *yard) honest() []string {
	var names []string
	for i := range y.workers {
		names = append(names, fmt.Sprintf("honest%d", i+1))
	}
	return names
}

func (y *yard) key(role string) string { return filepath.Join(y.keys, role+".nk") }

func (y *yard) lead() error {
	return y.start("coordinator", "coordinator", "--nats", y.url, "--nkey", y.key("coordinator"), "--runs-dir", y.runs,
		"--web", y.page)
}

func (y *yard) hire(name string) error {
	return y.start(name, "worker", "--nats", y.url, "--nkey", y.key("worker-"+name), "--id", name, "--slots", "1")
}

// start runs a process whose log is in a file of its name.
func (y *yard) start(name string, args ...string) error {
	log, err := os.OpenFile(filepath.Join(y.logs, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	c := exec.Command(y.binary, append(args, "--no-color")...)
	c.Stdout, c.Stderr = log, log
	if err := errors.Join(c.Start(), log.Close()); err != nil {
		return err
	}
	p := &process{c, make(chan struct{})}
	go func() {
		defer close(p.ended)
		_ = c.Wait() // alive says how it ended
	}()
	y.mu.Lock()
	defer y.mu.Unlock()
	y.processes[name] = p
	return nil
}

// end ends a process by a signal and waits for it; one that does not go by itself is killed.
func (y *yard) end(name string, by os.Signal) {
	y.mu.Lock()
	p := y.processes[name]
	delete(y.processes, name)
	y.mu.Unlock()
	if p == nil {
		return
	}
	_ = p.command.Process.Signal(by) // it may have ended
	select {
	case <-p.ended:
	case <-time.After(20 * time.Second):
		_ = p.command.Process.Kill()
		<-p.ended
	}
}

// alive returns an error if a process has ended that nobody has ended.
func (y *yard) alive() error {
	y.mu.Lock()
	defer y.mu.Unlock()
	for name, p := range y.processes {
		select {
		case <-p.ended:
			return fmt.Errorf("%s has ended: %v; its log is %s", name, p.command.ProcessState,
				filepath.Join(y.logs, name+".log"))
		default:
		}
	}
	return nil
}

func (y *yard) close() {
	for _, name := range append(append(y.honest(), "late"), "coordinator", "broker") {
		y.end(name, os.Interrupt)
	}
	if y.temporary {
		_ = os.RemoveAll(y.dir)
	}
}

// letIn starts a thief that does one thing; stop ends it.
func (y *yard) letIn(a attack) (stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{
		"-n", fmt.Sprint(y.nice), self, "-as", a.name, "-url", y.url, "-key", y.key("worker-thief"), "-page",
		y.page, "-run", y.name,
	}
	c := exec.Command("nice", append(args, y.honest()...)...)
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		return nil, err
	}
	return func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	}, nil
}

func free() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
