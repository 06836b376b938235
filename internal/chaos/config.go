package chaos

import (
	"errors"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/internal/fault"
)

var (
	// ErrUnstable is returned when a process ends by itself again and again.
	ErrUnstable = errors.New("chaos: a process does not stay up")
	// ErrFailed is returned when the run fails, or does not stop.
	ErrFailed = errors.New("chaos: the run failed")
	// ErrNoRecovery is returned by Measure when the run does not go on after a fault.
	ErrNoRecovery = errors.New("chaos: the run does not go on")
)

// Plan says what is done to the processes, and which faults they inject into themselves. A time of 0 means never.
type Plan struct {
	Seed            uint64
	Kill            time.Duration // mean time between two kills of a worker, which is started again
	CoordinatorKill time.Duration // the same of the coordinator
	BrokerRestart   time.Duration // the same of the broker
	Pause           fault.Outage  // of a worker
	// Messages, gradients and disk. The Seed is that above, Counts is set here, and Every of Partition is the mean
	// time between two of any process.
	Faults fault.Spec
}

// Config says what is run, and where.
type Config struct {
	Program  string   // executable of this program
	Environ  []string // of the processes
	Folder   string   // takes run folder, keys, logs and samples; it exists
	Settings string   // file with the configuration of the run
	Name     string   // of the run
	Shards   int      // of a step, or replicas of a round
	Stride   uint64   // updates of a step: 1, or those of a round
	Workers  int
	// Validation is the number of shards of a validation.
	Validation int
	// Detection is the run's time of failure detection, which Measure waits for.
	Detection time.Duration
	Plan      Plan
	Duration  time.Duration // the run is stopped after it; 0: it trains to its last step
	Log       hclog.Logger  // what is done to whom
	Progress  func(Status)  // called about once a second; may be nil
}

// Status is how far a run under faults is.
type Status struct {
	Elapsed time.Duration
	Step    uint64
	Steps   uint64
	Workers int // processes that run and are not stopped
	Faults  map[string]int64
}

// Result is what became of a run under faults.
type Result struct {
	Step         uint64 // of the checkpoint at the end
	SHA256       string // of its parameters
	Finished     bool   // it reached its last step
	Seconds      float64
	Faults       map[string]int64 // by the names on the command line; what a process injected in its last 100 ms may be missing
	Exits        int              // processes that ended by themselves, and were started again
	Useful       uint64           // shards of which the parameters are made, those of validations included
	Issued       uint64           // shards that workers were asked for; what a coordinator asked for just before it was killed may be missing
	Coordinators int              // processes that led the run, one after the other
	Growth       []Growth
}

// Goodput is the share of the issued shards that was useful; 0 if it is not known.
func (r *Result) Goodput() float64 {
	if r.Issued == 0 {
		return 0
	}
	return float64(r.Useful) / float64(r.Issued)
}
