package lead

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/cluster"
	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/lab/fault"
	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/ops"
	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/wire/shm"
)

// Config describes a host. Kinds, RunsDir, Connect, Command, Mistaken and Log are required.
type Config struct {
	Kinds    *config.Kinds // the kinds that configurations may name
	RunsDir  string
	URL      string // of the broker, for messages
	Connect  func(party string) (*cluster.Bus, error)
	Faults   *fault.Injector  // nil: none
	Command  config.Command   // makes the command lines in hints
	Mistaken func(error) bool // whether the client made the mistake: it asked for something impossible
	Log      hclog.Logger
	Events   bool     // whether runs that are no trials of a sweep get event files of TensorBoard
	Memory   shm.Host // shared with workers of this host; nil: none

	// Direct gives the vectors of a run to workers of this process without a broker between them; nil: they all go
	// through the broker.
	Direct func(*cluster.Bus) wire.Bus
	// Ready is called when the host leads runs, with a context that ends before the runs are interrupted; nil: nobody
	// waits for it.
	Ready func(context.Context)
	// Sweep answers requests about sweeps; nil: there are none here.
	Sweep func(ops.SweepRequest) (ops.SweepAnswer, error)
}

// Host leads runs with the workers of a pool.
//
// A run is opened by create or resume, under the lock opening, and then has a goroutine of its own, conduct, which
// leads it to its end, records that and removes it from runs. The end of life interrupts all of them, each after a
// checkpoint; all waits for their goroutines. The lock mu is held for moments only, never while a run is opened, led
// or ended, so that looking for a run never waits for that.
type Host struct {
	cfg      Config
	log      hclog.Logger
	bus      *cluster.Bus // for pool and service; each run has a connection of its own
	numerics []wire.Numeric
	store    *ops.Store // data sets of the runs
	pool     *Dispatcher
	bans     *cluster.BanList
	look     time.Duration // time between two searches for other coordinators

	life context.Context // its end interrupts the runs
	end  context.CancelCauseFunc
	all  sync.WaitGroup // waits for the runs

	opening  sync.RWMutex      // held while a run is opened: one at a time, but parts of runs at the same time
	requests map[string]string // names of runs by request; guarded by opening
	planner  job.Planner

	mu          sync.Mutex // guards the fields below
	runs        map[string]*hosted
	led         map[string]bool // runs that this host has led, or leads
	interrupted []string        // runs that the end of the host interrupted
}

// maxRequests is the largest number of requests that the host remembers. A request is remembered for the case that
// its answer was lost and it is sent again.
const maxRequests = 1024

// New prepares a host without runs. It connects to nothing and reads nothing: Connect and Serve do.
func New(cfg Config) *Host {
	h := &Host{
		cfg: cfg, log: cfg.Log, numerics: job.Numerics(), look: rivalLook,
		runs: map[string]*hosted{}, led: map[string]bool{}, requests: map[string]string{},
		// No data set may be larger than what a coordinator can send to its workers.
		store: ops.NewStore(store.DataFolder(cfg.RunsDir), wire.MaxData),
	}
	h.life, h.end = context.WithCancelCause(context.Background())
	return h
}

// Connect opens the host's own connection; Close closes it. The broker may start later.
func (h *Host) Connect() (err error) {
	h.bus, err = h.cfg.Connect("coordinator")
	return err
}

// Close closes the host's own connection.
func (h *Host) Close() { h.bus.Close() }

// hosted returns the run of that name if the host leads it at the moment, and nil otherwise.
func (h *Host) hosted(name string) *hosted {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.runs[name]
}

// under lists the runs that the host leads at the moment, in the order of their names. The list belongs to the
// caller; a run in it may have ended meanwhile.
func (h *Host) under() []*hosted {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := make([]*hosted, 0, len(h.runs))
	for _, r := range h.runs {
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b *hosted) int { return strings.Compare(a.name, b.name) })
	return list
}

// view is what the runs know of their workers.
func (h *Host) view() PoolView {
	var v PoolView
	for _, r := range h.under() {
		one := View(r.name, r.lead.Stats())
		v.Members, v.Banned = append(v.Members, one.Members...), append(v.Banned, one.Banned...)
	}
	return v
}

// shutdown lets all runs write a checkpoint. It returns the names of the runs that it interrupted. Those that were
// stopped on request, and runs of sweeps, are not among them.
func (h *Host) shutdown() []string {
	h.end(errShutdown)
	h.opening.Lock() // no run is opened after this
	defer h.opening.Unlock()
	h.all.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	slices.Sort(h.interrupted)
	return h.interrupted
}
