package lead

import (
	"context"
	"fmt"
	"time"

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

// NewCoordinator makes the coordinator of a run: it computes the initial parameters, fitted to the data if the plan
// asks for a start, and goes on from the checkpoint if there is one. It sends no message; Run does. If ctx ends
// while a start is fitted, it returns coordinator.ErrInterrupted; for a checkpoint that does not belong to the run,
// coordinator.ErrMismatch.
func NewCoordinator(ctx context.Context, l Leadership) (*coordinator.Coordinator, error) {
	began := time.Now()
	// The initial parameters are needed with a checkpoint, too: a rollback may lead back to them.
	theta, err := l.Plan.Initial(ctx)
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("%w: %w", coordinator.ErrInterrupted, err)
	}
	if err != nil {
		return nil, fmt.Errorf("prepare the run: %w", err)
	}
	if l.Plan.Starts() {
		l.Log.Info("the start is fitted", "seconds", time.Since(began).Seconds())
	}
	lead, err := coordinator.New(l.Config, theta, l.Bus, l.Observer, l.Log)
	if err != nil {
		return nil, fmt.Errorf("prepare the run: %w", err)
	}
	if l.From == nil {
		return lead, nil
	}
	from := *l.From
	from.Run = l.Config.Run // the run may have been renamed since
	if err := lead.Resume(&from); err != nil {
		return nil, fmt.Errorf("continue from %s: %w", l.From.Path, err)
	}
	return lead, nil
}
