package cmd

import (
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/lab/fault"
)

const (
	diskFull      = "disk-full"
	diskFullUsual = "3s/60s" // of the flag without a value
)

// detached takes the value of --disk-full from the arguments if it stands behind the flag without an equals sign, as
// with all other flags: "--disk-full 2s/9s". It returns the other arguments.
func (f *chaosFlags) detached(c *cobra.Command, args []string) []string {
	flag := c.Flags().Lookup(diskFull)
	if !flag.Changed || flag.Value.String() != diskFullUsual {
		return args
	}
	for i, text := range args {
		if o, err := fault.ParseOutage(text); err == nil {
			f.plan.Faults.DiskFull = o
			return slices.Delete(slices.Clone(args), i, i+1)
		}
	}
	return args
}

// Bounds of what chaos is asked for. Beyond them a run makes no progress, or the machine cannot start the processes.
const (
	maxChaosWorkers  = 64
	maxChaosMeasured = 1000
	maxChaosShare    = 0.5 // of messages lost or changed, of gradients spoilt
	minKill          = 200 * time.Millisecond
	minRestart       = time.Second // of coordinator and broker
	maxDelay         = 10 * time.Second
	maxOutage        = 5 * time.Minute
)

// check returns what is wrong with the numbers of a command line.
func (f *chaosFlags) check() error {
	switch {
	case f.workers < 1 || f.workers > maxChaosWorkers:
		return config.Usagef("--workers %d: it takes at least one worker, and at most %d fit on a machine", f.workers,
			maxChaosWorkers)
	case f.duration < 0:
		return config.Usagef("--duration %v: a length of time, such as 5m", f.duration)
	case f.measure < 0 || f.measure > maxChaosMeasured:
		return config.Usagef("--measure %d: between 0 and %d", f.measure, maxChaosMeasured)
	}
	faults := &f.plan.Faults
	for _, s := range []struct {
		name  string
		share float64
	}{{"drop", faults.Drop}, {"corrupt", faults.Corrupt}, {"nan", faults.NaN}} {
		if s.share > maxChaosShare {
			return config.Usagef("--%s %g%%: at most %g%%, or the run makes no progress", s.name, 100*s.share, 100*maxChaosShare)
		}
	}
	for _, s := range []struct {
		name       string
		every, min time.Duration
	}{
		{"kill", f.plan.Kill, minKill},
		{"coordinator-kill", f.plan.CoordinatorKill, minRestart},
		{"nats-restart", f.plan.BrokerRestart, minRestart},
	} {
		if s.every > 0 && s.every < s.min {
			return config.Usagef("--%s %v: at least %v, or the run makes no progress", s.name, s.every, s.min)
		}
	}
	if faults.Delay.Most > maxDelay {
		return config.Usagef("--delay %v: at most %v", faults.Delay.Most, maxDelay)
	}
	for _, s := range []struct {
		name   string
		outage fault.Outage
	}{{"pause", f.plan.Pause}, {"partition", faults.Partition}, {diskFull, faults.DiskFull}} {
		switch {
		case s.outage.Length > maxOutage:
			return config.Usagef("--%s %v: at most %v", s.name, s.outage.Length, maxOutage)
		case s.outage.Length > 0 && s.outage.Every < 2*s.outage.Length:
			return config.Usagef("--%s %v: %v out of every %v leave too little time to go on; type --%s=%v/%v or more", s.name,
				s.outage, s.outage.Length, s.outage.Every, s.name, s.outage.Length, 2*s.outage.Length)
		}
	}
	return nil
}
