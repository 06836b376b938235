package lead

import (
	"context"
	"fmt"
	"sync"

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
// be started, those before it end.
func (c Crew) Hire() (dismiss func(), err error) {
	return hire(c.Workers, c.agent, func(err error) {
		if err != nil {
			c.Log.Warn("a worker ended with an error", "error", err)
		}
	})
}

// agent makes worker n, from 0.
func (c Crew) agent(n int) (runner, error) {
	name := fmt.Sprintf("local-%d", n+1)
	bus, err := c.Connect(name)
	if err != nil {
		return nil, err
	}
	return worker.NewAgent(worker.AgentConfig{
		ID: name, Slots: c.Slots, Info: job.Name(), Numerics: job.Numerics(), Build: c.Build(n),
	}, bus, c.Log.Named("worker"))
}

// runner is a worker or an agent of this process.
type runner interface{ Run(context.Context) error }

// hire starts n workers, each in a goroutine of its own; one makes them, from 0, and nobody replaces one that ends.
// ended is called with what each returns, from its goroutine. dismiss ends them and waits for them. If one of them
// cannot be made, those before it end.
func hire(n int, one func(n int) (runner, error), ended func(error)) (dismiss func(), err error) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	dismiss = func() {
		cancel()
		all.Wait()
	}
	for i := range n {
		w, err := one(i)
		if err != nil {
			dismiss()
			return nil, fmt.Errorf("start worker %d: %w", i+1, err)
		}
		all.Go(func() { ended(w.Run(ctx)) })
	}
	return dismiss, nil
}
