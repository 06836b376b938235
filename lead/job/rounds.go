package job

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/worker"
)

// A run advances in updates and exchanges with its coordinator in steps. Synchronous runs make one update in a step,
// from the shards of a batch. With local steps, or chains of sweeps, a step is a round of Stride updates, and its
// RoundShards shards are replicas or chains.

// LocalSteps reports whether replicas make several updates between two exchanges with the coordinator.
func LocalSteps(c config.Config) bool { return c.Train.Method == "diloco" && c.Uses("train.method") }

// Sweeping reports whether the model of a run fits itself. Its sweeps take the place of updates.
func Sweeping(c config.Config) bool {
	_, ok := config.Sweeps(c)
	return ok
}

// Stride is the number of updates between two exchanges with the coordinator.
func Stride(c config.Config) uint64 {
	if s, ok := config.Sweeps(c); ok {
		return uint64(s.Exchange)
	}
	if LocalSteps(c) {
		return c.Train.LocalSteps
	}
	return 1
}

// RoundShards is the number of shards of a step. In a run with local steps these are the replicas of a round; for a
// model that fits itself, the power of two that is not below the number of chains.
func RoundShards(c config.Config) int {
	if s, ok := config.Sweeps(c); ok {
		return vector.Shards(s.Chains)
	}
	if LocalSteps(c) {
		return c.Train.Replicas
	}
	return c.Train.Shards
}

// optimizer is the Adam of the configuration, for parameters of this layout. It runs in the coordinator, or in each
// replica. A family that has no use for the optimiser has no updates for a schedule to end at. Parameters with a
// factor of their own are its groups.
func optimizer(c config.Config, layout []coordinator.Tensor) coordinator.Optimizer {
	o := coordinator.Optimizer{
		Rate: c.Optim.Rate, Decay: c.Optim.Decay, DecayEvery: c.Optim.DecayEvery, Warmup: c.Optim.Warmup,
		Clip: c.Optim.Clip, ClipFactor: c.Optim.ClipFactor, ClipSize: c.Optim.ClipSize,
		Outlier: c.Optim.Outlier, Beta1: c.Optim.Beta1, Beta2: c.Optim.Beta2, Epsilon: c.Optim.Epsilon,
		Groups: groups(c, layout),
	}
	if c.Optim.Schedule == "cosine" && c.Uses("optim.schedule") {
		o.Shape, o.Horizon, o.Final = vector.Cosine, c.Train.Horizon, c.Optim.Final
	}
	return o
}

// outer is the optimiser between rounds of local steps; zero if the run is synchronous. That of chains puts each where
// it has gone: see package exact.
func outer(c config.Config) coordinator.Outer {
	if Sweeping(c) {
		return coordinator.Outer{Rate: float64(RoundShards(c)), Every: Stride(c)}
	}
	if !LocalSteps(c) {
		return coordinator.Outer{}
	}
	return coordinator.Outer{Rate: c.Train.OuterRate, Momentum: c.Train.OuterMomentum, Every: c.Train.LocalSteps}
}

// newReplicas makes the program of local steps from the programs of its slots, one for each, which belong to it.
func newReplicas(c config.Config, slots ...*worker.Shards) (*worker.Replicas, error) {
	var programs []worker.Program
	for _, s := range slots {
		programs = append(programs, s)
	}
	p, err := worker.NewReplicas(programs, worker.LocalSteps{
		Replicas: c.Train.Replicas, Steps: int(c.Train.LocalSteps), Shards: c.Train.Shards,
		Optimizer: optimizer(c, layout(slots[0].Model())),
	})
	if err != nil {
		return nil, fmt.Errorf("build the program: %w", err)
	}
	return p, nil
}
