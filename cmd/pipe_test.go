package cmd

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/switchyard-ml/switchyard/store"
)

// TestTrain_TerminalEnds: a training whose terminal is closed, or whose output nobody reads any more, writes a
// checkpoint and ends as interrupted. The interrupt from the keyboard ends tee, too, and lines that say what happens
// have no reader.
func TestTrain_TerminalEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*os.Process, io.Closer) error{
		"hangup": func(p *os.Process, _ io.Closer) error { return p.Signal(syscall.SIGHUP) },
		"reader": func(_ *os.Process, c io.Closer) error { return c.Close() },
		"interrupt": func(p *os.Process, c io.Closer) error {
			return errors.Join(c.Close(), p.Signal(os.Interrupt))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCLI(t)
			cmd := asProcess(t, "train", "fhn/smoke", "train.steps=1000000", "--workers", "1", "--web", "none",
				"--name", "a", "--runs-dir", c.dir)
			said, err := cmd.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(said)
			for lines.Scan() && !strings.Contains(lines.Text(), "validation:") {
			}
			if err := end(cmd.Process, said); err != nil {
				t.Fatal(err)
			}
			for lines.Scan() {
			}
			_ = cmd.Wait() // the code says more
			info := c.info("a")
			saved := info.State == store.Interrupted && info.Step > 0
			if code := cmd.ProcessState.ExitCode(); code != exitInterrupted || !saved {
				t.Errorf("%v, run %s at step %d", cmd.ProcessState, info.State, info.Step)
			}
		})
	}
}

// TestTrain_LogCannotBeWritten: a training whose log has no room goes on, and its results are printed.
func TestTrain_LogCannotBeWritten(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	refused, err := os.Open(os.DevNull) // to read: every write fails
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = refused.Close() }()
	cmd := asProcess(t, "train", "noise/smoke", "--workers", "1", "--web", "none", "--name", "a", "--runs-dir",
		c.dir)
	cmd.Stderr = refused
	if said, err := cmd.Output(); err != nil || !strings.Contains(string(said), "trained") {
		t.Errorf("%v, %q", err, said)
	}
	if info := c.info("a"); info.State != store.Finished {
		t.Errorf("run %s at step %d", info.State, info.Step)
	}
}

// TestEndable_Pipe: a reader that ends asks work to end as often as there are lines, and never aborts it. A command
// without such work ends at once.
func TestEndable_Pipe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		signals := make(chan os.Signal, 2)
		a := &app{signals: signals}
		err := a.endable(func() error {
			err := a.untilSaved(io.Discard, "writing a checkpoint", func(ctx context.Context) error {
				for range 3 {
					signals <- syscall.SIGPIPE
					time.Sleep(2 * sameSignal)
				}
				return context.Cause(ctx)
			})
			signals <- syscall.SIGPIPE // of the lines behind the work
			time.Sleep(time.Second)
			return err
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("work: %v, want %v", err, context.Canceled)
		}
		over := make(chan struct{})
		err = a.endable(func() error {
			signals <- syscall.SIGPIPE
			<-over
			return nil
		})
		close(over)
		if code := exitCode(err); !errors.Is(err, errPipe) || code != exitPipe {
			t.Errorf("no work: %v, code %d", err, code)
		}
	})
}
