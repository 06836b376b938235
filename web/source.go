package web

import (
	"errors"
	"time"

	"github.com/switchyard-ml/switchyard/store"
)

// Source lists the runs and their states. Its methods are called from many goroutines at the same time and should
// return quickly.
type Source interface {
	// Ready returns nil if runs can make progress, or what is missing, e.g. the broker.
	Ready() error
	// Runs returns all runs, the last started first.
	Runs() ([]Run, error)
	// Run returns one run. The error for an unknown name matches store.ErrNotFound or store.ErrName.
	Run(name string) (Run, error)
	// Stop asks a run to write a checkpoint and stop. It returns without waiting for that. It returns ErrReadOnly if
	// this source cannot stop runs, and ErrNotRunning for a run that is not under way.
	Stop(name string) error
}

// Keyed is a Source that tells the keys of workers apart. The list is shown to people; it has no secrets.
type Keyed interface {
	// Keys returns the keys that are banned, or of which messages were dropped.
	Keys() []Key
}

// Key is a key of workers with which something is wrong.
type Key struct {
	Key     string            `json:"key"` // its name, the part behind the @ of a worker's
	Banned  bool              `json:"banned"`
	Since   time.Time         `json:"since,omitzero"`
	Reason  string            `json:"reason,omitempty"`
	Dropped map[string]uint64 `json:"dropped,omitempty"` // messages by kind
}

// Run is a run in the form that the page shows.
type Run struct {
	store.Info
	Damage []store.Damage `json:"damage,omitempty"` // files that cannot be used; not in lists of runs
	// Live is what the process that leads the run knows beyond the run's folder; nil if that is another process. It may
	// stay after the end of the run.
	Live *Live `json:"live,omitempty"`
}

// Live is the current state of a run in the process that leads it. Its counters begin with that process.
type Live struct {
	Term         uint64           `json:"term"`                     // number of the coordinator's incarnation
	Waiting      string           `json:"waiting,omitempty"`        // why the run waits; empty if it does not
	WaitingSince time.Time        `json:"waiting_since,omitzero"`   // begin of the wait
	Exchange     string           `json:"exchange,omitempty"`       // how gradients get to the coordinator, and why if the run chooses itself
	Workers      []Worker         `json:"workers"`                  // in the order of their ids
	ShardsIssued int64            `json:"shards_issued"`            // shards leased, repetitions included
	ShardsUseful int64            `json:"shards_useful"`            // shards that are part of the run
	ShardsUndone int64            `json:"shards_undone"`            // shards that were, until they were computed once more
	Speculations int64            `json:"speculations"`             // leases issued again because a worker was slow
	Reissued     int64            `json:"reissued"`                 // blocks taken back from a worker and given out again
	Summed       int64            `json:"steps_summed"`             // steps whose gradient workers have summed
	Repeated     int64            `json:"steps_repeated"`           // logged steps that were made again with the same parameters
	Audits       int64            `json:"audits"`                   // blocks computed a second time as a check
	Disputes     int64            `json:"disputes"`                 // blocks of which two workers sent different bits
	Rollbacks    int64            `json:"rollbacks"`                // times that the run returned to an earlier step because a worker had sent wrong bits
	CutOff       int64            `json:"cut_off,omitempty"`        // workers that were excluded because of wrong bits
	Quarantined  []string         `json:"quarantined,omitempty"`    // ids of the newest of them
	Rejections   map[string]int64 `json:"rejections,omitempty"`     // refused messages by reason
	Checkpointed time.Time        `json:"checkpointed_at,omitzero"` // time at which the latest checkpoint was on the disk
}

// Worker is a member of a run.
type Worker struct {
	ID       string    `json:"id"`
	Slots    int       `json:"slots"`             // shards that it computes at the same time
	Busy     int       `json:"busy"`              // shards leased to it
	Speed    float64   `json:"shards_per_second"` // measured; 0: not measured yet
	LastSeen time.Time `json:"last_seen"`         // time of its last message
	State    string    `json:"state"`             // preparing, idle or computing
	Shares   bool      `json:"shares_memory"`     // with the coordinator, on whose host it is
	Cores    float64   `json:"cores"`             // that its process uses; workers of one process have the same
	Memory   uint64    `json:"memory_bytes"`      // that its process holds; 0: not known yet
}

var (
	// ErrReadOnly is returned by Source.Stop if the source can only show runs.
	ErrReadOnly = errors.New("web: runs can only be looked at here")
	// ErrNotRunning is returned by Source.Stop for a run that is not under way.
	ErrNotRunning = errors.New("web: run is not running")
	// ErrToken is returned by Listen for an address beyond loopback without a token, and by ReadToken for a file
	// without one.
	ErrToken = errors.New("web: token needed")
)

// Folder is a Source that reads a folder of runs, which other processes lead. It keeps nothing, so several
// goroutines may use it.
type Folder string

var _ Source = Folder("")

// Ready implements Source.
func (Folder) Ready() error { return nil }

// Runs implements Source.
func (f Folder) Runs() ([]Run, error) {
	list, err := store.List(string(f))
	if err != nil {
		return nil, err
	}
	all := make([]Run, 0, len(list))
	for _, info := range list {
		all = append(all, Run{Info: info})
	}
	return all, nil
}

// Run implements Source. It looks for damage, too.
func (f Folder) Run(name string) (Run, error) {
	info, err := store.Look(string(f), name)
	if err != nil {
		return Run{}, err
	}
	damage, err := store.Damages(string(f), name)
	return Run{Info: info, Damage: damage}, err
}

// Stop implements Source.
func (Folder) Stop(string) error { return ErrReadOnly }
