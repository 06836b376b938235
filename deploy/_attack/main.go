// Attack measures what the holder of one stolen worker key can do to a run. It starts a broker with keys, a coordinator
// and honest workers, each a process with a key of its own, and then lets a thief do one thing after the other. For each
// it writes the run's speed before, from ten seconds after the beginning, and when it is over, and whether the thief was
// banned. At the end the run's parameters are compared with those of a run without a thief.
//
//	go build -o switchyard ./cmd/switchyard && go run ./deploy/_attack -binary ./switchyard
//
// With -soak the thief does all of it in random order for that time, while honest workers come and go.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

type options struct {
	binary, dir, preset, rows string
	workers, turns            int
	window, wait, soak        time.Duration
	seed                      uint64
}

func main() {
	var o options
	flag.StringVar(&o.binary, "binary", "./switchyard", "the program to attack")
	flag.StringVar(&o.dir, "dir", "", "folder for keys, runs and logs (default: a temporary one, which is removed)")
	flag.StringVar(&o.preset, "preset", "noise/smoke", "what is trained")
	flag.StringVar(&o.rows, "rows", "", "names of the attacks, with commas between (default: all)")
	flag.IntVar(&o.workers, "workers", 2, "honest workers")
	flag.IntVar(&o.turns, "turns", 3, "times that each attack is measured")
	flag.DurationVar(&o.window, "window", 5*time.Second, "time over which a speed is measured")
	flag.DurationVar(&o.wait, "wait", 10*time.Second, "time from the begin of an attack to its measurement")
	flag.DurationVar(&o.soak, "soak", 0, "attack at random for that time instead, with workers that come and go")
	flag.Uint64Var(&o.seed, "seed", 1, "of the soak")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "attack:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	y, err := open(ctx, o)
	if err != nil {
		return err
	}
	defer y.close()
	if o.soak > 0 {
		return y.soakFor(ctx)
	}
	return y.table(ctx)
}

// yard is the cluster under attack.
type yard struct {
	options
	keys, runs, logs, url, page string
	mu                          sync.Mutex
	processes                   []*exec.Cmd
	temporary                   bool
	name                        string // of the run
}

func open(ctx context.Context, o options) (*yard, error) {
	y := &yard{options: o, name: "attacked"}
	if y.dir == "" {
		dir, err := os.MkdirTemp("", "attack-")
		if err != nil {
			return nil, err
		}
		y.dir, y.temporary = dir, true
	}
	binary, err := filepath.Abs(o.binary)
	if err != nil {
		return nil, err
	}
	y.binary, y.keys, y.runs, y.logs = binary, filepath.Join(y.dir, "keys"), filepath.Join(y.dir, "runs"), filepath.Join(y.dir, "logs")
	for _, dir := range []string{y.runs, y.logs} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
	}
	args := []string{"init", "--dir", y.keys}
	for _, name := range append(y.honest(), "late", "thief") {
		args = append(args, "--worker", name)
	}
	if _, err := y.command(ctx, args...); err != nil {
		return nil, err
	}
	address, err := free()
	if err != nil {
		return nil, err
	}
	if y.page, err = free(); err != nil {
		return nil, err
	}
	y.url = "nats://" + address
	if err := y.start("broker", "broker", "--listen", address, "--keys", y.keys); err != nil {
		return nil, err
	}
	if err := y.start("coordinator", "coordinator", "--nats", y.url, "--nkey", y.key("coordinator"), "--runs-dir", y.runs, "--web", y.page); err != nil {
		return nil, err
	}
	for _, name := range y.honest() {
		if err := y.hire(name); err != nil {
			return nil, err
		}
	}
	return y, nil
}

func (y *yard) honest() []string {
	var names []string
	for i := range y.workers {
		names = append(names, fmt.Sprintf("honest%d", i+1))
	}
	return names
}

func (y *yard) key(role string) string { return filepath.Join(y.keys, role+".nk") }

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
	if err := c.Start(); err != nil {
		return err
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	y.processes = append(y.processes, c)
	return nil
}

// dismiss ends the process that was started last under a key of that name, and waits for it.
func (y *yard) dismiss(name string) {
	y.mu.Lock()
	i := slices.IndexFunc(y.processes, func(c *exec.Cmd) bool { return slices.Contains(c.Args, y.key("worker-"+name)) })
	var c *exec.Cmd
	if i >= 0 {
		c = y.processes[i]
		y.processes = slices.Delete(y.processes, i, i+1)
	}
	y.mu.Unlock()
	if c != nil {
		_ = c.Process.Signal(os.Interrupt)
		_ = c.Wait()
	}
}

func (y *yard) close() {
	for _, c := range slices.Backward(y.processes) {
		_ = c.Process.Signal(os.Interrupt)
		done := make(chan error, 1)
		go func() { done <- c.Wait() }()
		select {
		case <-done:
		case <-time.After(20 * time.Second):
			_ = c.Process.Kill()
			<-done
		}
	}
	if y.temporary {
		_ = os.RemoveAll(y.dir)
	}
}

// command runs the program and returns what it prints.
func (y *yard) command(ctx context.Context, args ...string) (string, error) {
	c := exec.CommandContext(ctx, y.binary, args...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		return "", fmt.Errorf("switchyard %s: %w: %s", strings.Join(args, " "), err, errs.String())
	}
	return out.String(), nil
}

// operate asks the coordinator.
func (y *yard) operate(ctx context.Context, args ...string) (string, error) {
	return y.command(ctx, append(args, "--nats", y.url, "--nkey", y.key("operator"))...)
}

// submit opens a run.
func (y *yard) submit(ctx context.Context, name string, steps uint64) error {
	_, err := y.operate(ctx, append([]string{"submit", "--name", name}, y.job(steps)...)...)
	return err
}

// job is the preset with so many steps, validated and saved at its end alone, as single-step runs of the toy preset are
// otherwise checkpoints more than anything.
func (y *yard) job(steps uint64) []string {
	return []string{y.preset, fmt.Sprintf("train.steps=%d", steps), "train.validate_every=0", "train.checkpoint_every=0"}
}

// endless is more steps than a run makes in a day.
const endless = 100_000_000

// info is what the page says of a run.
type info struct {
	State string `json:"state"`
	Step  uint64 `json:"step"`
	SHA   string `json:"params_sha256"`
	Live  struct {
		Quarantined []string `json:"quarantined"`
	} `json:"live"`
}

func (y *yard) show(ctx context.Context, name string) (info, error) {
	var i info
	for began := time.Now(); ; {
		out, err := y.operate(ctx, "runs", "show", name, "--json")
		if err == nil {
			return i, json.Unmarshal([]byte(out), &i)
		}
		if time.Since(began) > time.Minute || ctx.Err() != nil {
			return i, err
		}
	}
}

// speed is the steps per second of all runs named, over the window.
func (y *yard) speed(ctx context.Context, names ...string) (float64, error) {
	steps := func() (sum uint64, err error) {
		for _, name := range names {
			i, err := y.show(ctx, name)
			if err != nil {
				return 0, err
			}
			sum += i.Step
		}
		return sum, nil
	}
	from, err := steps()
	began := time.Now() // what the page says was so a moment ago
	if err != nil {
		return 0, err
	}
	if err := pause(ctx, y.window); err != nil {
		return 0, err
	}
	to, err := steps()
	return float64(to-min(from, to)) / time.Since(began).Seconds(), err
}

// banned returns what `runs ls` says of banned keys.
func (y *yard) banned(ctx context.Context) (key, reason string, err error) {
	out, err := y.operate(ctx, "runs", "ls")
	if err != nil {
		return "", "", err
	}
	if m := regexp.MustCompile(`(?m)^\s*(U[A-Z2-7]{11})\s+\S+ \S+\s+(.*)$`).FindStringSubmatch(out); m != nil {
		return m[1], m[2], nil
	}
	return "", "", nil
}

func (y *yard) unban(ctx context.Context) error {
	key, _, err := y.banned(ctx)
	if err == nil && key != "" {
		_, err = y.operate(ctx, "unban", key)
	}
	return err
}

// alive returns an error if an honest worker has ended.
func (y *yard) alive() error {
	y.mu.Lock()
	defer y.mu.Unlock()
	for _, c := range y.processes {
		if err := c.Process.Signal(nothing); err != nil {
			return fmt.Errorf("%s has ended: %w", strings.Join(c.Args, " "), err)
		}
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func free() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// begin opens the run and waits until it is at work. It has more steps than will be done.
func (y *yard) begin(ctx context.Context, steps uint64) error {
	for began := time.Now(); ; {
		err := y.submit(ctx, y.name, steps)
		if err == nil {
			break
		}
		if pause(ctx, time.Second) != nil || time.Since(began) > 20*time.Second { // the coordinator needs a moment at its start
			return errors.Join(err, ctx.Err())
		}
	}
	for {
		i, err := y.show(ctx, y.name)
		if err != nil {
			return err
		}
		if i.Step > 100 {
			return nil
		}
		if err := pause(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
}

// end waits for the end of the run and compares its bits with those of `train` alone.
func (y *yard) end(ctx context.Context, steps uint64, out io.Writer) error {
	for {
		i, err := y.show(ctx, y.name)
		if err != nil {
			return err
		}
		if i.State != "running" {
			if i.State != "finished" {
				return fmt.Errorf("the run is %s", i.State)
			}
			break
		}
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
	}
	attacked, err := y.show(ctx, y.name)
	if err != nil {
		return err
	}
	args := append([]string{"train", "--name", "quiet", "--runs-dir", filepath.Join(y.dir, "reference"), "--workers", "1", "--quiet"}, y.job(steps)...)
	if _, err := y.command(ctx, args...); err != nil {
		return err
	}
	data, err := os.ReadFile(filepath.Join(y.dir, "reference", "quiet", "run.json"))
	if err != nil {
		return err
	}
	var quiet info
	if err := json.Unmarshal(data, &quiet); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nparameters after %d steps: %s; without a thief: %s: the same: %v\n", steps, attacked.SHA, quiet.SHA, attacked.SHA == quiet.SHA)
	if attacked.SHA != quiet.SHA {
		return errors.New("the thief changed bits")
	}
	return nil
}

// table measures each attack by turns and prints a table.
func (y *yard) table(ctx context.Context) error {
	chosen := attacks()
	if y.rows != "" {
		names := strings.Split(y.rows, ",")
		chosen = slices.DeleteFunc(chosen, func(a attack) bool { return !slices.Contains(names, a.name) })
	}
	if err := y.begin(ctx, endless); err != nil { // for its speed alone
		return err
	}
	quiet, err := y.speed(ctx, y.name)
	if err != nil {
		return err
	}
	if _, err := y.operate(ctx, "runs", "stop", y.name); err != nil {
		return err
	}
	each := 3*y.window + y.wait + 4*time.Second
	steps := uint64(max(quiet, 1) * each.Seconds() * float64(len(chosen)*y.turns))
	y.name = "under-attack"
	if err := y.begin(ctx, steps); err != nil {
		return err
	}
	results := map[string][]result{}
	for range y.turns {
		for _, a := range chosen {
			r, err := y.measure(ctx, a)
			if err != nil {
				return fmt.Errorf("%s: %w", a.name, err)
			}
			results[a.name] = append(results[a.name], r)
			fmt.Fprintf(os.Stderr, "%s: %.0f, %.0f, %.0f steps/s, banned: %s\n", a.name, r.before, r.during, r.after, r.reason)
		}
	}
	fmt.Printf("| attack | steps/s before | during, after %v | when it is over | during ÷ before | thief banned |\n|---|---|---|---|---|---|\n", y.wait)
	for _, a := range chosen {
		all := results[a.name]
		column := func(of func(result) float64) float64 { return median(all, of) }
		cut := 0
		for _, r := range all {
			if r.reason != "" {
				cut++
			}
		}
		fmt.Printf("| %s | %.0f | %.0f | %.0f | %.2f | %d of %d |\n", a.what, column(func(r result) float64 { return r.before }),
			column(func(r result) float64 { return r.during }), column(func(r result) float64 { return r.after }),
			column(func(r result) float64 { return r.during / max(r.before, 1e-9) }), cut, len(all))
	}
	return y.end(ctx, steps, os.Stdout)
}

type result struct {
	before, during, after float64
	reason                string // of the ban; empty: there was none
}

func median(all []result, of func(result) float64) float64 {
	var values []float64
	for _, r := range all {
		values = append(values, of(r))
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// measure measures one attack.
func (y *yard) measure(ctx context.Context, a attack) (r result, err error) {
	runs := []string{y.name}
	if a.second {
		name := fmt.Sprintf("second-%d", time.Now().UnixNano())
		if err := y.submit(ctx, name, endless); err != nil {
			return r, err
		}
		runs = append(runs, name)
		defer func() {
			_, stopErr := y.operate(ctx, "runs", "stop", name)
			err = errors.Join(err, stopErr)
		}()
		if err := pause(ctx, 3*time.Second); err != nil {
			return r, err
		}
	}
	if r.before, err = y.speed(ctx, runs...); err != nil {
		return r, err
	}
	attacking, stop := context.WithCancel(ctx)
	var thief sync.WaitGroup
	thief.Go(func() { a.act(attacking, y) })
	err = pause(ctx, y.wait)
	if err == nil {
		r.during, err = y.speed(ctx, runs...)
	}
	if err == nil {
		_, r.reason, err = y.banned(ctx)
	}
	stop()
	thief.Wait()
	if err := errors.Join(err, y.alive(), y.unban(ctx), pause(ctx, time.Second)); err != nil {
		return r, err
	}
	r.after, err = y.speed(ctx, y.name)
	return r, err
}

// soakFor attacks at random while workers come and go, and compares goodput with that of a quiet time.
func (y *yard) soakFor(ctx context.Context) error {
	draws := rand.New(rand.NewPCG(y.seed, 1))
	if err := y.begin(ctx, endless); err != nil {
		return err
	}
	y.window = max(y.window, 20*time.Second)
	quiet, err := y.speed(ctx, y.name)
	if err != nil {
		return err
	}
	if _, err := y.operate(ctx, "runs", "stop", y.name); err != nil {
		return err
	}
	steps := uint64(quiet * y.soak.Seconds())
	y.name = "soak"
	if err := y.begin(ctx, steps); err != nil {
		return err
	}
	all, acts, changes := attacks(), map[string]int{}, 0
	begin, began := uint64(0), time.Now()
	if i, err := y.show(ctx, y.name); err == nil {
		begin = i.Step
	}
	for time.Since(began) < y.soak {
		a := all[draws.IntN(len(all))]
		acts[a.name]++
		attacking, stop := context.WithTimeout(ctx, time.Duration(2+draws.IntN(12))*time.Second)
		a.act(attacking, y)
		<-attacking.Done()
		stop()
		if err := errors.Join(ctx.Err(), y.unban(ctx)); err != nil {
			return err
		}
		if name := y.honest()[draws.IntN(y.workers)]; draws.IntN(2) == 0 {
			y.dismiss(name)
			if err := y.hire(name); err != nil {
				return err
			}
			changes++
		}
		if err := y.alive(); err != nil {
			return err
		}
	}
	i, err := y.show(ctx, y.name)
	if err != nil {
		return err
	}
	rate := float64(i.Step-begin) / time.Since(began).Seconds()
	fmt.Printf("%v of attacks %v, workers replaced %d times: %.0f steps/s, %.0f in a quiet time: goodput %.2f\n", time.Since(began).Round(time.Second), acts, changes, rate, quiet, rate/quiet)
	return y.end(ctx, steps, os.Stdout)
}
