package chaos

import (
	"errors"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/lab/fault"
)

var (
	// ErrUnstable is returned when a process ends by itself repeatedly.
	ErrUnstable = errors.New("chaos: a process does not stay up")
	// ErrFailed is returned when the run fails, or does not stop.
	ErrFailed = errors.New("chaos: the run failed")
	// ErrNoRecovery is returned by Measure when the run does not continue after a fault.
	ErrNoRecovery = errors.New("chaos: the run does not continue")
	// ErrOver is returned by Measure when the run ends before all faults were measured.
	ErrOver = errors.New("chaos: the run is over before everything was measured")
)

// Plan lists the faults: those that processes suffer, and those that they inject into themselves. A time of 0 means
// never.
type Plan struct {
	Seed            uint64
	Kill            time.Duration // mean time between two kills of a worker; it is started again
	CoordinatorKill time.Duration // the same for the coordinator
	BrokerRestart   time.Duration // the same for the broker
	Pause           fault.Outage  // pauses of a worker
	// Faults in messages, gradients and on the disk. Its Seed is Plan.Seed, and Counts is set by this package. Every of
	// Partition is the mean time between two partitions of any processes.
	Faults fault.Spec
}

// Config describes the run and its processes.
type Config struct {
	Program  string   // executable of this program
	Environ  []string // environment of the processes
	Folder   string   // existing folder for the runs, keys, logs and samples
	Settings string   // file with the configuration of the run
	Name     string   // of the run
	Shards   int      // of a step; with local steps, the replicas of a round
	Stride   uint64   // updates of a step: 1; with local steps, the length of a round
	Workers  int      // each has 1 to MaxSlots slots, drawn from Plan.Seed
	Servers  bool     // each worker carries a server of a cluster, as on a host of its own; no memory is shared then
	Sums     bool     // the configuration lets workers sum the gradient
	Audit    float64  // share of the blocks that the run has computed twice
	// Validation is the number of shards of a validation.
	Validation int
	// Detection is the time of failure detection of the run. Measure waits for it.
	Detection time.Duration
	Plan      Plan
	Duration  time.Duration // the run is stopped this long after it began to make steps; 0: it trains to its last step
	Log       hclog.Logger  // logs each fault and its target
	Progress  func(Status)  // called about once a second; may be nil
}

// Status is how far a run under faults is.
type Status struct {
	Elapsed time.Duration // since the beginning
	Step    uint64
	Steps   uint64
	Workers int              // workers that run and are not paused
	Faults  map[string]int64 // so far, by the names of the flags
}

// Result is the result of a run under faults. A run has survived if SHA256 is that of a run without faults after
// as many steps; everything else says what it cost and what it has met.
type Result struct {
	Step         uint64           // of the last checkpoint
	SHA256       string           // of the parameters of that checkpoint
	Finished     bool             // the run reached its last step
	Seconds      float64          // from the start of the processes to the end of the schedule
	Faults       map[string]int64 // by the names of the flags; faults in the last 100 ms of a process may be missing
	Effects      Effects
	Idle         []string // what was asked for and did nothing, each with the reason; empty: the run has tested it all
	Exits        int      // processes that ended by themselves and were started again
	Useful       uint64   // shards that the parameters are made of, and those of validations
	Issued       uint64   // shards that coordinators leased; those leased just before a kill may be missing
	Coordinators int      // number of processes that led the run, one after the other
	Growth       []Growth
}

// Goodput is the useful share of the issued shards; 0 if it is not known.
func (r *Result) Goodput() float64 {
	if r.Issued == 0 {
		return 0
	}
	return float64(r.Useful) / float64(r.Issued)
}
