package lead

import (
	"context"
	"fmt"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/worker"
)

// Crew are workers of this process, which go where there is work: each is an agent of the pool that seeks a run,
// serves it and seeks the next one. Worker n has the id "local-n", from 1.
type Crew struct {
	// Connect opens the connection of a worker, under its id. Hire closes none of them.
	Connect func(party string) (wire.Bus, error)
	// Workers is how many there are, Slots how many shards each computes at the same time.
	Workers, Slots int
	Build          func(n int) Builder // of worker n, from 0
	Log            hclog.Logger
}

// Builder makes the program of a job for a worker: job is a resolved configuration, data the encoded data set, empty
// if data are simulated, and slots the number of shards that are computed at the same time.
type Builder = func(job, data []byte, slots int) (worker.Program, error)

// Hire starts the workers. dismiss ends them and waits for them; what they return is logged. If one of them cannot
// be started, those before it are told to end, and Hire returns without waiting for them.
func (c Crew) Hire() (dismiss func(), err error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, c.Workers)
	for n := range c.Workers {
		name := fmt.Sprintf("local-%d", n+1)
		bus, err := c.Connect(name)
		if err == nil {
			var agent *worker.Agent
			agent, err = worker.NewAgent(worker.AgentConfig{
				ID: name, Slots: c.Slots, Info: job.Name(), Numerics: job.Numerics(), Build: c.Build(n),
			}, bus, c.Log.Named("worker"))
			if err == nil {
				go func() { ended <- agent.Run(ctx) }()
				continue
			}
		}
		cancel()
		return nil, fmt.Errorf("start worker %d: %w", n+1, err)
	}
	return func() {
		cancel()
		for range c.Workers {
			if err := <-ended; err != nil {
				c.Log.Warn("a worker ended with an error", "error", err)
			}
		}
	}, nil
}
