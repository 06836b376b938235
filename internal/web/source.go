package web

import (
	"errors"
	"time"

	"github.com/switchyard-ml/switchyard/internal/runs"
)

// Source says what runs there are and how they stand. Its methods are called from many
// goroutines at the same time and should return at once.
type Source interface {
	// Ready returns nil while runs can go on, and else what is missing, e.g. the broker.
	Ready() error
	// Runs returns all runs, the latest started first.
	Runs() ([]Run, error)
	// Run returns one run; an unknown name is a runs.ErrNotFound or a runs.ErrName.
	Run(name string) (Run, error)
	// Stop asks a run to write a checkpoint and stop, and returns without waiting for it.
	// It returns ErrReadOnly where nothing can be stopped and ErrNotRunning for a run that
	// is not under way.
	Stop(name string) error
}

// Run is a run as the page shows it.
type Run struct {
	runs.Info
	// Live is what the process that leads the run knows beyond its folder; nil if that is
	// not this process. It may stay after the end of the run.
	Live *Live `json:"live,omitempty"`
}

// Live is the present state of a run in the process that leads it. The counters begin
// with that process.
type Live struct {
	Term         uint64           `json:"term"`                     // incarnation of the coordinator
	Waiting      string           `json:"waiting,omitempty"`        // why the run waits; empty while it goes on
	WaitingSince time.Time        `json:"waiting_since,omitzero"`   // since when
	Workers      []Worker         `json:"workers"`                  // in the order of their ids
	ShardsIssued int64            `json:"shards_issued"`            // shards leased, repetitions included
	ShardsUseful int64            `json:"shards_useful"`            // shards whose gradients entered a step
	Speculations int64            `json:"speculations"`             // leases issued again because a worker was slow
	Audits       int64            `json:"audits"`                   // blocks computed a second time as a check
	Disputes     int64            `json:"disputes"`                 // blocks of which two workers sent different bits
	Rollbacks    int64            `json:"rollbacks"`                // times that the run went back because a worker had sent wrong bits
	Quarantined  []string         `json:"quarantined,omitempty"`    // ids of workers cut off for their bits
	Rejections   map[string]int64 `json:"rejections,omitempty"`     // refused messages by reason
	Checkpointed time.Time        `json:"checkpointed_at,omitzero"` // when the latest checkpoint was on disk
}

// Worker is a member of a run.
type Worker struct {
	ID       string    `json:"id"`
	Slots    int       `json:"slots"`             // shards that it computes at the same time
	Busy     int       `json:"busy"`              // shards leased to it
	Speed    float64   `json:"shards_per_second"` // measured; 0: not yet
	LastSeen time.Time `json:"last_seen"`         // when it last said anything
	State    string    `json:"state"`             // preparing, idle or computing
}

var (
	// ErrReadOnly is returned by Source.Stop where runs are only looked at.
	ErrReadOnly = errors.New("web: runs can only be looked at here")
	// ErrNotRunning is returned by Source.Stop for a run that is not under way.
	ErrNotRunning = errors.New("web: run is not under way")
	// ErrToken is returned by Listen for an address beyond loopback without a token, and by
	// ReadToken for a file that holds none.
	ErrToken = errors.New("web: token needed")
)

// Folder is a Source that only looks at a folder of runs. What runs there is led by
// another process.
type Folder string

var _ Source = Folder("")

// Ready implements Source.
func (Folder) Ready() error { return nil }

// Runs implements Source.
func (f Folder) Runs() ([]Run, error) {
	list, err := runs.List(string(f))
	if err != nil {
		return nil, err
	}
	all := make([]Run, 0, len(list))
	for _, info := range list {
		all = append(all, Run{Info: info})
	}
	return all, nil
}

// Run implements Source.
func (f Folder) Run(name string) (Run, error) {
	info, err := runs.Load(string(f), name)
	info.Name = name
	return Run{Info: info}, err
}

// Stop implements Source.
func (Folder) Stop(string) error { return ErrReadOnly }
