package job

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/internal/config"
	"github.com/switchyard-ml/switchyard/worker"
)

// LocalSteps reports whether replicas make several updates between two exchanges with the coordinator.
func LocalSteps(c config.Config) bool { return c.Train.Method == "diloco" }

// Stride is the number of updates between two exchanges with the coordinator.
func Stride(c config.Config) uint64 {
	if LocalSteps(c) {
		return c.Train.LocalSteps
	}
	return 1
}

// RoundShards is the number of shards of a step; in a run with local steps, the replicas of a round.
func RoundShards(c config.Config) int {
	if LocalSteps(c) {
		return c.Train.Replicas
	}
	return c.Train.Shards
}

// optimizer is the Adam of the configuration. It runs in the coordinator, or in each replica.
func optimizer(c config.Config) coordinator.Optimizer {
	return coordinator.Optimizer{
		Rate: c.Optim.Rate, Decay: c.Optim.Decay, DecayEvery: c.Optim.DecayEvery, Clip: c.Optim.Clip,
		Beta1: c.Optim.Beta1, Beta2: c.Optim.Beta2, Epsilon: c.Optim.Epsilon,
	}
}

// outer is the optimiser between rounds of local steps; zero if the run is synchronous.
func outer(c config.Config) coordinator.Outer {
	if !LocalSteps(c) {
		return coordinator.Outer{}
	}
	return coordinator.Outer{Rate: c.Train.OuterRate, Momentum: c.Train.OuterMomentum, Every: c.Train.LocalSteps}
}

// newReplicas makes the program of local steps from the programs of its slots.
func newReplicas(c config.Config, programs ...worker.Program) (*worker.Replicas, error) {
	p, err := worker.NewReplicas(programs, worker.LocalSteps{
		Replicas: c.Train.Replicas, Steps: int(c.Train.LocalSteps), Shards: c.Train.Shards, Optimizer: optimizer(c),
	})
	if err != nil {
		return nil, fmt.Errorf("build the program: %w", err)
	}
	return p, nil
}
