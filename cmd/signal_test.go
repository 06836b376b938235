package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard"
	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/sweep"
)

// hangLimit ends a test of a command that does not end. It decides nothing else.
const hangLimit = 3 * time.Minute

// stuck is an output that nobody reads, and an input that nobody writes: whoever touches it waits until the test is over.
type stuck struct {
	once    sync.Once
	touched chan struct{}
	over    <-chan struct{}
}

func (s *stuck) wait() (int, error) {
	s.once.Do(func() { close(s.touched) })
	<-s.over
	return 0, io.ErrClosedPipe
}

func (s *stuck) Write([]byte) (int, error) { return s.wait() }
func (s *stuck) Read([]byte) (int, error)  { return s.wait() }

// signalled runs a command line whose output nobody reads, and whose input nobody writes. When it waits for one of them,
// or has begun as the test says, it gets a signal. signalled fails the test if the command does not end then.
func signalled(c *cli, line string, begun <-chan struct{}) (code int, said string) {
	c.t.Helper()
	over := make(chan struct{})
	defer close(over)
	var errs buffer
	in, out := &stuck{touched: make(chan struct{}), over: over}, &stuck{touched: make(chan struct{}), over: over}
	signals := make(chan os.Signal, 2)
	a := &app{
		kinds: builtin(), in: in, out: out, err: &errs, environ: append([]string{"SWITCHYARD_RUNS_DIR=" + c.dir}, c.environ...),
		signals: signals, invoked: "switchyard", cores: 2,
	}
	ended := make(chan int, 1)
	go func() { ended <- a.run(strings.Fields(line)) }()
	select {
	case <-in.touched:
	case <-out.touched:
	case <-begun:
	case code := <-ended:
		c.t.Errorf("%s: ends by itself, with exit code %d\n%s", line, code, errs.String())
		return code, errs.String()
	case <-time.After(hangLimit):
		c.t.Errorf("%s: does not begin\n%s", line, errs.String())
	}
	signals <- syscall.SIGTERM
	select {
	case code := <-ended:
		return code, errs.String()
	case <-time.After(hangLimit):
		c.t.Fatalf("%s: a signal does not end it\n%s", line, errs.String())
		return 0, ""
	}
}

// silent is a broker that accepts connections and never says a word. It tells of each.
func silent(t *testing.T) (url string, accepted <-chan struct{}) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan struct{}, 1000)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = conn.Close() })
			told <- struct{}{}
		}
	}()
	t.Cleanup(func() { _ = l.Close() })
	return "nats://" + l.Addr().String(), told
}

// moreLines are command lines for the commands that sceneLines do not have, and for those that read the standard input.
var moreLines = []string{
	"config schema", "help", "completion bash", "completion zsh", "completion fish", "completion powershell",
	"broker --listen 127.0.0.1:0", "serve --web 127.0.0.1:0", "serve --model own --web 127.0.0.1:0",
	"runs prune --older-than 0.0000001h", "data info -", "data show -", "data convert - piped.npz",
	"bench sweep --preset noise/smoke --workers 1 --trials 2 --steps 9 --shard 1ms --stop none",
	"bench report records.json",
	"fit data --dry-run",
}

// waitingLines wait for a broker that never answers.
var waitingLines = []string{
	"submit noise/smoke", "runs ls", "runs show x", "runs stop x", "ban UDXU4RCSJNZO", "unban UDXU4RCSJNZO",
	"sweep submit -m noise/smoke seed=1 optim.rate=1e-3,1e-2", "sweep stop x", "sweep pause x", "sweep resume x", "sweep show x", "sweep ls", "sweep best x",
	"sweep extend x --trials 1", "coordinator", "worker", "serve --web none --model own", "doctor",
}

// signalsEnd sends a signal to every command while it is under way: none fails to end.
func signalsEnd(t *testing.T, s *scene) {
	seen := map[string]bool{}
	writeFile(t, "records.json", `[{"kind":"machine"}]`)
	for _, line := range append(slices.Clone(sceneLines), moreLines...) {
		seen[commandOf(t, line)] = true
		if strings.HasPrefix(line, "paper") {
			line += " --json" // its plan is no result
		}
		if code, said := signalled(s.cli, line, nil); code != exitFailed && code != exitInterrupted {
			t.Errorf("%s: exit code %d\n%s", line, code, said)
		}
	}
	url, accepted := silent(t)
	for _, line := range waitingLines {
		seen[commandOf(t, line)] = true
		for len(accepted) > 0 { // by the last one, which tried again
			<-accepted
		}
		code, said := signalled(s.cli, line+" --nats "+url, accepted)
		if endless := slices.Contains(endless, commandOf(t, line)); (code == exitOK) != endless && code != exitFailed {
			t.Errorf("%s: exit code %d\n%s", line, code, said)
		}
	}
	for _, path := range leaves() {
		if !seen[path] && path != "switchyard chaos" { // it runs the built binary, not this process
			t.Errorf("no test sends a signal to %s", path)
		}
	}
}

// leaves are the commands that do something.
func leaves() []string {
	var list []string
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		if c.Runnable() && (!c.HasSubCommands() || c.Name() == "sweep") {
			list = append(list, c.CommandPath())
		}
	}
	walk(flagTree())
	return list
}

// TestExitCode_OfInterrupts: what goes on with the same command ends with one code, whichever command it is.
func TestExitCode_OfInterrupts(t *testing.T) {
	t.Parallel()
	for _, err := range []error{coordinator.ErrInterrupted, sweep.ErrInterrupted, switchyard.ErrInterrupted} {
		if got := exitCode(config.Hint(fmt.Errorf("lead: %w", err), "go on")); got != exitInterrupted {
			t.Errorf("%v: exit code %d, want %d", err, got, exitInterrupted)
		}
	}
}

// The second signal of a program such as timeout may come when the work has already ended by the first one: what the
// command does behind its work, as recording how a run ended, is done all the same. A signal that comes later ends it.
func TestEndable_OneSignalTwice(t *testing.T) {
	t.Parallel()
	for after, want := range map[time.Duration]error{sameSignal / 2: nil, 2 * sameSignal: errSignal} {
		synctest.Test(t, func(t *testing.T) {
			signals, recorded := make(chan os.Signal, 2), make(chan bool, 1)
			a := &app{signals: signals}
			err := a.endable(func() error {
				err := a.untilSaved(io.Discard, "writing a checkpoint", func(ctx context.Context) error {
					signals <- syscall.SIGTERM
					<-ctx.Done()
					return nil
				})
				time.Sleep(after)
				signals <- syscall.SIGTERM
				time.Sleep(time.Second)
				recorded <- true
				return err
			})
			if !errors.Is(err, want) || (len(recorded) == 1) != (want == nil) {
				t.Errorf("a second signal after %v: %v, recorded %v", after, err, len(recorded) == 1)
			}
			<-recorded
		})
	}
}

// An interruption that comes while a temporary file is made removes it, and nothing is made after one.
func TestLeftovers_InterruptedWhileAFileIsMade(t *testing.T) {
	t.Parallel()
	dir, removed := t.TempDir(), make(chan error)
	var l leftovers
	path, forget, err := l.make(func() (string, error) {
		f, err := os.CreateTemp(dir, "made")
		if err != nil {
			return "", err
		}
		go func() { removed <- l.remove() }()
		select {
		case err := <-removed:
			t.Errorf("the removal did not wait for the file, whose name it cannot know yet: %v", err)
			go func() { removed <- nil }()
		case <-time.After(20 * time.Millisecond):
		}
		return f.Name(), f.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-removed; err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", path, err)
	}
	forget()
	_, _, err = l.make(func() (string, error) {
		t.Error("a file is made after the interruption")
		return "", nil
	})
	if !errors.Is(err, errInterrupted) {
		t.Errorf("error %v, want %v", err, errInterrupted)
	}
}

// TestAtOnce_SaysWhetherSomethingWasWritten: a result is kept before an interruption or not at all.
func TestAtOnce_SaysWhetherSomethingWasWritten(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		results int
		want    error
	}{{0, errInterrupted}, {1, errSignal}} {
		a, over := &app{}, make(chan struct{})
		err := a.atOnce(func() error {
			for range test.results {
				if err := a.leftovers.keep(func() error { return nil }); err != nil {
					t.Error(err)
				}
			}
			a.watch.forward(os.Interrupt)
			<-over
			return nil
		})
		close(over)
		if !errors.Is(err, test.want) {
			t.Errorf("with %d results: %v, want %v", test.results, err, test.want)
		}
		err = a.leftovers.keep(func() error {
			t.Error("a result is kept after the interruption")
			return nil
		})
		if !errors.Is(err, errInterrupted) {
			t.Errorf("error %v, want %v", err, errInterrupted)
		}
	}
}
