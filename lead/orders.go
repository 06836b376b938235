package lead

import (
	"errors"
	"fmt"
	"strings"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/ops"
	"github.com/switchyard-ml/switchyard/store"
)

// Order describes the run to be opened. When it is opened, its configuration is resolved, and its data set, if it
// has one, is in the store of the host.
type Order struct {
	Name      string // empty: chosen from the configuration
	Config    config.Config
	Overrides []string
	Command   []string
	Scale     []byte // for a run on own data: the scaling of its data set, as JSON
	Sweep     string // the sweep whose trial it is; empty: none
	Request   string // the submission that it is; empty: it is none
}

// open opens a new run, or continues the run of that name from its newest checkpoint. The run and the order need the
// same configuration, else it returns errOtherConfig. A run that is under way, or has finished, is left as it is; the
// trial of a sweep is store.ErrOccupied. The lock opening is held.
func (h *Host) open(o Order) (ops.Submitted, error) {
	if o.Name == "" {
		return h.create(o)
	}
	if info, err := store.Peek(h.cfg.RunsDir, o.Name); err == nil && info.Sweep != "" {
		return ops.Submitted{}, config.Hint(
			config.Usage(fmt.Errorf("%w: %w", store.ErrOccupied, trialOf(o.Name, info.Sweep))), "choose another --name")
	}
	if r := h.hosted(o.Name); r != nil {
		if err := sameRun(o, r.Plan.Config); err != nil {
			return ops.Submitted{}, err
		}
		if !r.stopping.Load() {
			return ops.Submitted{Name: o.Name, State: ops.Running}, nil
		}
		<-r.done // it has to write its last checkpoint before it can continue
	}
	info, err := store.Load(h.cfg.RunsDir, o.Name)
	if errors.Is(err, store.ErrNotFound) {
		return h.create(o)
	}
	if err == nil {
		err = h.check(o)
	}
	switch {
	case err != nil:
		return ops.Submitted{}, err
	case info.State == store.Finished:
		return ops.Submitted{Name: o.Name, State: ops.Finished}, nil
	}
	_, err = h.resume(o.Name, 0)
	return ops.Submitted{Name: o.Name, State: ops.Resumed}, err
}

// requested is the name of the run that a submission has opened when it was sent before, as its answer was lost; empty:
// it was not. Of one without a name this host remembers it, and after a restart the runs do. The lock opening is held.
func (h *Host) requested(r ops.Submission) string {
	if name := h.requests[r.Request]; name != "" || r.Name != "" || r.Request == "" {
		return name
	}
	list, err := store.List(h.cfg.RunsDir)
	if err != nil {
		h.log.Debug("the runs cannot be asked for a submission", "error", err)
	}
	for _, info := range list {
		if info.Request == r.Request {
			return info.Name
		}
	}
	return ""
}

// Prepare completes the order of a run that this process itself asks for: it puts the data set into the store, chooses
// a name, and checks that the name is free. A name that was empty is that of the first run of its stem, so that the
// same order, given again, finds the same run.
func (h *Host) Prepare(o *Order) error {
	data, err := job.LoadData(&o.Config, nil)
	if err != nil {
		return err
	}
	if data != nil {
		if o.Scale, err = data.Normalisation(); err != nil {
			return err
		}
		if err := h.store.Keep(data.Encoded); err != nil {
			return DiskHint(err, nil, h.cfg.Command)
		}
	}
	if o.Name == "" {
		o.Name = job.Stem(o.Config) + "-1"
	}
	return h.check(*o)
}

// check returns an error if another run has the name of the order. A run with the same configuration is no fault:
// the order continues it.
func (h *Host) check(o Order) error {
	c, err := job.ReadConfig(h.cfg.Kinds, h.cfg.RunsDir, o.Name)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return sameRun(o, c)
}

// stopped reports whether a run was stopped on request before its last step, so that only a request continues it.
func (h *Host) stopped(name string) bool {
	info, err := store.Load(h.cfg.RunsDir, name)
	return err == nil && info.Stopped && info.State != store.Finished
}

// errOtherConfig is returned when a run of that name exists and has another configuration.
var errOtherConfig = errors.New("there is a run of that name with another configuration")

// sameRun returns an error if the order and the run of its name have different configurations. Only the content of data
// sets counts, not the paths of their files.
func sameRun(o Order, c config.Config) error {
	differences := job.Differences(c, o.Config)
	if len(differences) == 0 {
		return nil
	}
	return config.Hint(config.Usagef("run %s: %w: %s", o.Name, errOtherConfig, strings.Join(differences, ", ")),
		"choose another --name")
}
