// Package host leads runs, any number at the same time, with workers that are other processes: it takes runs that are handed
// in, goes on with those that were under way, answers over NATS and to the page, and sees to it that one host leads the
// workers of a broker. What happens to one run does not touch the others. It does not know what a command line looks like, nor
// which exit code an error gets.
package host

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/internal/advice"
	"github.com/switchyard-ml/switchyard/internal/config"
	"github.com/switchyard-ml/switchyard/internal/control"
	"github.com/switchyard-ml/switchyard/internal/fault"
	"github.com/switchyard-ml/switchyard/internal/job"
	"github.com/switchyard-ml/switchyard/internal/pool"
	"github.com/switchyard-ml/switchyard/internal/runs"
	"github.com/switchyard-ml/switchyard/internal/session"
	"github.com/switchyard-ml/switchyard/internal/wire"
	"github.com/switchyard-ml/switchyard/internal/wire/natsbus"
)

// Config says what a host is.
type Config struct {
	Kinds    *config.Kinds // what configurations are read with
	RunsDir  string
	URL      string // of the broker, for messages
	Connect  func(party string) (*natsbus.Bus, error)
	Faults   *fault.Injector  // nil: none
	Command  advice.Command   // for hints
	Mistaken func(error) bool // whether an error is a client's, who asked for what cannot be
	Log      hclog.Logger
}

// Host leads runs with the workers of a pool.
type Host struct {
	cfg      Config
	log      hclog.Logger
	bus      *natsbus.Bus // of pool and service; each run has one of its own
	numerics []wire.Numeric
	store    *control.Store // data sets of the runs
	pool     *pool.Dispatcher
	look     time.Duration // between two looks for other coordinators

	life context.Context // of the runs
	end  context.CancelCauseFunc
	all  sync.WaitGroup // the runs

	opening  sync.Mutex        // runs are opened one after the other
	requests map[string]string // names of runs by request; guarded by opening

	mu          sync.Mutex // guards all below
	runs        map[string]*hosted
	interrupted []string // runs that the end of the host has interrupted
}

// What ends a run beside its last step.
var (
	errShutdown = errors.New("the coordinator was stopped")
	errStop     = errors.New("stopped on request")
)

// maxRequests bounds how many requests are remembered.
const maxRequests = 1024

// New prepares a host without runs.
func New(cfg Config) *Host {
	h := &Host{
		cfg: cfg, log: cfg.Log, store: NewStore(cfg.RunsDir), numerics: job.Numerics(), look: rivalLook,
		runs: map[string]*hosted{}, requests: map[string]string{},
	}
	h.life, h.end = context.WithCancelCause(context.Background())
	return h
}

// dataFolder, below the folder of the runs, holds the data sets of the runs that hosts lead. No run has such a name.
const dataFolder = ".data"

// NewStore is the store of the data sets of hosted runs in a folder of runs.
func NewStore(runsDir string) *control.Store {
	return control.NewStore(filepath.Join(runsDir, dataFolder), wire.MaxData)
}

// Connect opens the host's own connection, which Close closes. The broker may come later.
func (h *Host) Connect() (err error) {
	h.bus, err = h.cfg.Connect("coordinator")
	return err
}

// Close closes the host's own connection.
func (h *Host) Close() { h.bus.Close() }

func (h *Host) hosted(name string) *hosted {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.runs[name]
}

// under lists the runs that are under way.
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

// resumeAll goes on with the runs that a coordinator hosted and that are not at their end, in the order of their start.
// One that cannot go on is told, and does not hold up the others.
func (h *Host) resumeAll() error {
	h.opening.Lock()
	defer h.opening.Unlock()
	list, err := runs.List(h.cfg.RunsDir)
	if err != nil {
		return err
	}
	for _, info := range slices.Backward(list) {
		unfinished := info.State == runs.Lost || info.State == runs.Interrupted
		if !info.Host || info.Stopped || !unfinished || h.life.Err() != nil {
			continue
		}
		if err := h.resume(info.Name); err != nil {
			h.log.Error("a run cannot go on", "run", info.Name, "error", err, "hint", advice.Of(err))
		}
	}
	return nil
}

// view is what the runs know of their workers.
func (h *Host) view() pool.View {
	var v pool.View
	for _, r := range h.under() {
		one := session.View(r.name, r.lead.Stats())
		v.Members, v.Banned = append(v.Members, one.Members...), append(v.Banned, one.Banned...)
	}
	return v
}

// shutdown lets all runs write a checkpoint, and returns the names of those that it has interrupted.
func (h *Host) shutdown() []string {
	h.end(errShutdown)
	h.opening.Lock() // none is opened any more
	defer h.opening.Unlock()
	h.all.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	slices.Sort(h.interrupted)
	return h.interrupted
}
