package cmd

import (
	"context"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/cluster"
	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/lab/fault"
)

// injector returns the faults that the environment variable orders for the process of that name. It returns nil, which
// injects nothing, if there is no such order. Faults are for chaos; the log warns of them.
func (a *app) injector(name string, log hclog.Logger) (*fault.Injector, error) {
	text := a.getenv(fault.Variable)
	if text == "" {
		return nil, nil
	}
	spec, err := fault.Parse(text)
	if err != nil {
		return nil, config.Hint(config.Usagef("%s: %w", fault.Variable, err), "unset %s for a run without faults",
			fault.Variable)
	}
	log.Warn("FAULTS ARE INJECTED on purpose: messages, gradients and files are spoilt", "variable", fault.Variable,
		"faults", spec)
	return fault.New(spec, name, log)
}

// cutOffWith cuts a server of this process off whenever the injector cuts off the process, until ctx ends. Message
// faults need no more than the bus of the process: what a route carries is what a bus was given.
func cutOffWith(ctx context.Context, faults *fault.Injector, own *cluster.Broker, log hclog.Logger) {
	faults.FollowPartitions(ctx, func(off bool) {
		if err := own.CutOff(off); err != nil {
			log.Warn("the server of this process is not cut off with it", "error", err)
			return
		}
		log.Info("the server of this process", "cut off", off)
	})
}
