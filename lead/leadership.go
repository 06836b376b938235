package lead

import (
	"fmt"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
	"github.com/switchyard-ml/switchyard/wire"
)

// Leadership has the parts of a run's coordinator.
type Leadership struct {
	Plan     *job.Plan
	Config   coordinator.Config     // Plan.Lead, perhaps with small changes
	From     *checkpoint.Checkpoint // nil: begin with the initial parameters
	Bus      wire.Bus
	Observer coordinator.Observer
	Log      hclog.Logger
}

// NewCoordinator makes the coordinator of a run. If there is a checkpoint, it begins there.
func NewCoordinator(l Leadership) (*coordinator.Coordinator, error) {
	lead, err := coordinator.New(l.Config, l.Plan.Theta, l.Bus, l.Observer, l.Log)
	if err != nil {
		return nil, fmt.Errorf("prepare the run: %w", err)
	}
	if l.From == nil {
		return lead, nil
	}
	if err := lead.Resume(l.From); err != nil {
		return nil, fmt.Errorf("continue from %s: %w", l.From.Path, err)
	}
	return lead, nil
}
