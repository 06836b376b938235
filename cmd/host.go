package cmd

import (
	"context"
	"errors"
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

// host leads runs, any number at the same time, with the workers of a pool. What happens to one run does not touch the
// others.
type host struct {
	app      *app
	log      hclog.Logger
	connect  func(party string) (*natsbus.Bus, error)
	bus      *natsbus.Bus    // of pool and service; each run has one of its own
	faults   *fault.Injector // nil: none
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

// order says which run is to be opened.
type order struct {
	name      string // empty: made from the configuration
	config    config.Config
	overrides []string
	command   []string
	scale     []byte // scaling of the data set of a run on own data, as JSON
}

// open opens a run, or goes on with the one that is meant.
func (h *host) open(o order) (control.Submitted, error) {
	if o.name == "" {
		return h.create(o)
	}
	if r := h.hosted(o.name); r != nil {
		if err := sameRun(o, r.plan.Config); err != nil {
			return control.Submitted{}, err
		}
		if !r.stopping.Load() {
			return control.Submitted{Name: o.name, State: control.Running}, nil
		}
		<-r.done // it is to go on from its last checkpoint
	}
	info, err := runs.Load(h.app.runsDir, o.name)
	if errors.Is(err, runs.ErrNotFound) {
		return h.create(o)
	}
	if err != nil {
		return control.Submitted{}, err
	}
	c, err := h.app.runConfig(o.name)
	if err == nil {
		err = sameRun(o, c)
	}
	switch {
	case err != nil:
		return control.Submitted{}, err
	case info.State == runs.Finished:
		return control.Submitted{Name: o.name, State: control.Finished}, nil
	}
	return control.Submitted{Name: o.name, State: control.Resumed}, h.resume(o.name)
}

// check returns an error if an order cannot be carried out because another run has its name.
func (h *host) check(o order) error {
	c, err := h.app.runConfig(o.name)
	if errors.Is(err, runs.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return sameRun(o, c)
}

// stopped reports whether a run was stopped on request.
func (h *host) stopped(name string) bool {
	info, err := runs.Load(h.app.runsDir, name)
	return err == nil && info.Stopped && info.State != runs.Finished
}

// errOtherConfig is the error of a name that stands for another run.
var errOtherConfig = errors.New("there is a run of that name with another configuration")

// sameRun returns an error if an order has another configuration than the run of its name. Where the files of a data set
// lie does not matter, their content does.
func sameRun(o order, c config.Config) error {
	differences := job.Differences(c, o.config)
	if len(differences) == 0 {
		return nil
	}
	return advice.Hint(advice.Usagef("run %s: %w: %s", o.name, errOtherConfig, strings.Join(differences, ", ")), "choose another --name")
}

func (h *host) hosted(name string) *hosted {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.runs[name]
}

// under lists the runs that are under way.
func (h *host) under() []*hosted {
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
func (h *host) resumeAll() error {
	h.opening.Lock()
	defer h.opening.Unlock()
	list, err := runs.List(h.app.runsDir)
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
func (h *host) view() pool.View {
	var v pool.View
	for _, r := range h.under() {
		one := session.View(r.name, r.lead.Stats())
		v.Members, v.Banned = append(v.Members, one.Members...), append(v.Banned, one.Banned...)
	}
	return v
}

// shutdown lets all runs write a checkpoint, and returns the names of those that it has interrupted.
func (h *host) shutdown() []string {
	h.end(errShutdown)
	h.opening.Lock() // none is opened any more
	defer h.opening.Unlock()
	h.all.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	slices.Sort(h.interrupted)
	return h.interrupted
}
