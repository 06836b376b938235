package chaos

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/switchyard-ml/switchyard/lab/fault"
)

const (
	// stopPatience is the longest wait for a process that was asked to end. A coordinator finishes its step first.
	stopPatience = 90 * time.Second
	// A process that ends by itself is started again after the time again. If it ends crashes times in a row, each time
	// younger than stable, it is not started any more.
	again   = 200 * time.Millisecond
	crashes = 15
	stable  = 5 * time.Second

	// tailLines and tailWidth limit the part of a log that an error shows.
	tailLines = 5
	tailWidth = 300

	host = "127.0.0.1"
)

// child is a process of the cluster, with all its incarnations. Their log is one file, and each has a file of
// fault counters of its own.
//
// It is in one of three states: it runs (due and halted are zero), it is paused until halted, or it is down until
// due. One that has ended by itself goes down at the next look.
type child struct {
	role      string // broker, coordinator or worker
	name      string // of its log file
	arguments func(generation int) []string
	faults    bool // whether it injects faults

	generation int       // of the latest incarnation, from 1; 0: none yet
	process    *process  // the latest incarnation; nil: none yet
	logged     int64     // length of its log when the latest incarnation started
	due        time.Time // time of its start; zero: it runs, or should run
	halted     time.Time // end of its pause; zero: it is not paused
	failures   int       // number of incarnations in a row that soon ended by themselves
}

// running reports whether the process exists and nobody has killed it. A paused process runs.
func (c *child) running() bool { return c.process != nil && c.process.running() && c.due.IsZero() }

// fleet is the set of all processes. It is used by one goroutine.
type fleet struct {
	cfg         Config
	launcher    *launcher
	broker      *child
	coordinator *child
	workers     []*child
	page        string // host:port of the coordinator's page
	exits       int    // number of processes that ended by themselves
}

// newFleet makes folders and keys, and finds free ports. It starts no process. Folder has logs, counts and runs
// then.
func newFleet(cfg Config) (*fleet, error) {
	for _, folder := range []string{"logs", "counts", "runs"} {
		if err := os.MkdirAll(filepath.Join(cfg.Folder, folder), 0o755); err != nil {
			return nil, fmt.Errorf("make the folder of the processes: %w", err)
		}
	}
	p, err := newParties(cfg)
	if err != nil {
		return nil, err
	}
	c := &fleet{cfg: cfg, page: p.page}
	c.broker = &child{role: "broker", name: "broker", arguments: func(int) []string { return p.broker() }}
	c.coordinator = &child{
		role: "coordinator", name: "coordinator", faults: true,
		arguments: func(int) []string { return p.coordinator(cfg) },
	}
	for i := range cfg.Workers {
		slots := slotsOf(cfg.Plan.Seed, i)
		// A restarted worker gets a new id, so that it need not wait until its predecessor counts as lost.
		name := fmt.Sprintf("worker-%d", i+1)
		c.workers = append(c.workers, &child{
			role: "worker", name: name, faults: true,
			arguments: func(generation int) []string {
				return p.worker(fmt.Sprintf("%s-%d", name, generation), slots)
			},
		})
	}
	return c, nil
}

// MaxSlots is how many slots a worker has at most.
const MaxSlots = 4

// slotsOf is the number of slots of the i-th worker.
func slotsOf(seed uint64, i int) int {
	draws := fault.Schedule(seed, int(acts)+i)
	return 1 + draws.IntN(MaxSlots)
}

// children are all processes in the order in which they start.
func (c *fleet) children() []*child {
	return slices.Concat([]*child{c.broker, c.coordinator}, c.workers)
}

// begin starts all processes.
func (c *fleet) begin() error {
	c.launcher = newLauncher()
	for _, x := range c.children() {
		if err := c.start(x); err != nil {
			return err
		}
	}
	return nil
}

// start runs the next incarnation of a child. Its log is appended to; faults come by an environment variable.
func (c *fleet) start(x *child) error {
	log, err := os.OpenFile(c.log(x), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("open the log of a process: %w", err)
	}
	defer log.Close() // the process has a descriptor of its own
	if x.logged, err = log.Seek(0, io.SeekEnd); err != nil {
		return fmt.Errorf("find the end of the log of a process: %w", err)
	}
	x.generation++
	x.due, x.halted = time.Time{}, time.Time{}
	environ := c.cfg.Environ
	if spec := c.spec(x); spec != "" {
		environ = append(slices.Clone(environ), fault.Variable+"="+spec)
	}
	x.process, err = c.launcher.start(c.cfg.Program, x.arguments(x.generation), environ, log)
	return err
}

// spec has the faults that an incarnation injects into itself; empty for none. Each incarnation has other faults,
// by its seed. The plan has the time between two partitions of any processes; a process has its own so many times
// less often as there are workers and coordinator.
func (c *fleet) spec(x *child) string {
	s := c.cfg.Plan.Faults
	if !x.faults || s == (fault.Spec{}) {
		return ""
	}
	s.Seed = c.cfg.Plan.Seed<<20 + uint64(x.generation)
	s.Partition.Every *= time.Duration(len(c.workers) + 1)
	if x != c.coordinator {
		s.DiskFull = fault.Outage{} // workers write no files
	}
	// The coordinator and the last worker have their first outages soon, so that a short run has one of each
	// kind.
	if x == c.coordinator || x == c.workers[len(c.workers)-1] {
		s.Soon = c.soon(s)
	}
	s.Counts = c.counts(x)
	return s.String()
}

// soon is within which time an incarnation is to have its first outages, while there was none of a kind yet; 0: they
// come when they come.
func (c *fleet) soon(s fault.Spec) time.Duration {
	counted, err := c.counted()
	for kind, o := range map[fault.Kind]fault.Outage{fault.Partition: s.Partition, fault.DiskFull: s.DiskFull} {
		if err != nil || o.Length > 0 && counted[kind.String()] == 0 {
			return 2 * early
		}
	}
	return 0
}

// counted are the faults that all processes have injected into themselves, by their names, over all incarnations.
// Those of the last 100 ms before a kill may be missing.
func (c *fleet) counted() (map[string]int64, error) {
	total := make(map[string]int64)
	folder := filepath.Join(c.cfg.Folder, "counts")
	files, err := fs.Glob(os.DirFS(folder), "*")
	if err != nil {
		return nil, fmt.Errorf("look for fault counters: %w", err)
	}
	for _, file := range files {
		counts, _, err := fault.ReadCounts(filepath.Join(folder, file))
		if err != nil {
			return nil, err
		}
		for name, n := range counts {
			total[name] += n
		}
	}
	return total, nil
}

// counts is the file with the fault counters of the latest incarnation.
func (c *fleet) counts(x *child) string {
	return filepath.Join(c.cfg.Folder, "counts", x.name+"-"+strconv.Itoa(x.generation))
}

// tend starts the processes that are due, continues those whose pause is over, and restarts those that ended by
// themselves. It is called often. It returns ErrUnstable for a process that does not stay up.
func (c *fleet) tend(now time.Time) error {
	for _, x := range c.children() {
		if !x.halted.IsZero() && !now.Before(x.halted) {
			x.halted = time.Time{}
			if err := x.process.signal(proceed); err != nil {
				return err
			}
		}
		// Nobody has killed it, and it is gone.
		if x.due.IsZero() && !x.process.running() {
			if err := c.ended(x, now); err != nil {
				return err
			}
		}
		if !x.due.IsZero() && !now.Before(x.due) {
			if err := c.start(x); err != nil {
				return err
			}
		}
	}
	return nil
}

// ended handles a process that ended by itself, which a process under faults may do: it is started again, unless
// it has ended too often in a row.
func (c *fleet) ended(x *child, now time.Time) error {
	c.exits++
	if x.failures++; now.Sub(x.process.began) > stable {
		x.failures = 1
	}
	state := x.process.command.ProcessState
	c.cfg.Log.Warn("process ended by itself", "process", x.name, "generation", x.generation, "state", state)
	if x.failures >= crashes {
		return fmt.Errorf("%w: %s ended %d times in a row, at last with %s; its log ends:\n%s", ErrUnstable, x.name, crashes,
			state, c.tail(x))
	}
	x.due = now.Add(again)
	return nil
}

// kill kills a child by a signal that it cannot handle, and waits for its end. It is started again after down.
// One that does not run is left alone.
func (c *fleet) kill(x *child, down time.Duration) error {
	if !x.running() {
		return nil
	}
	x.due = time.Now().Add(down)
	x.halted = time.Time{}
	return x.process.kill()
}

// pause stops a child for a while: it keeps its memory and connections, and answers nobody. One that does not run
// is left alone.
func (c *fleet) pause(x *child, length time.Duration) error {
	if !x.running() {
		return nil
	}
	x.halted = time.Now().Add(length)
	return x.process.signal(halt)
}

// end ends all processes. The coordinator is the first: while the workers still run, it finishes its step and
// writes a checkpoint. Paused processes go on first, since a stopped one cannot end. It returns when all have
// ended.
func (c *fleet) end() error {
	var errs []error
	for _, x := range c.children() {
		if !x.halted.IsZero() {
			errs = append(errs, x.process.signal(proceed))
		}
	}
	for _, group := range [][]*child{{c.coordinator}, c.workers, {c.broker}} {
		for _, x := range group {
			if x.process != nil && x.process.running() {
				errs = append(errs, x.process.stop(stopPatience))
			}
		}
	}
	return errors.Join(errs...)
}

// close kills the processes that still run.
func (c *fleet) close() {
	if c.launcher == nil {
		return
	}
	for _, x := range c.children() {
		if x.process != nil && x.process.running() {
			_ = x.process.kill()
		}
	}
	c.launcher.close()
}

// log is the path of a child's log.
func (c *fleet) log(x *child) string { return filepath.Join(c.cfg.Folder, "logs", x.name+".log") }

// tail is the end of a child's log.
func (c *fleet) tail(x *child) string {
	data, err := os.ReadFile(c.log(x))
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	lines = lines[max(0, len(lines)-tailLines):]
	for i, line := range lines {
		lines[i] = line[:min(len(line), tailWidth)]
	}
	return strings.Join(lines, "\n")
}
