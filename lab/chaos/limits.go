package chaos

import (
	"fmt"
	"time"

	"github.com/switchyard-ml/switchyard/lab/fault"
)

// Bounds of a plan. Beyond them a run makes no progress, so that surviving or not says nothing.
const (
	maxShare   = 0.5 // of messages lost or changed, of gradients spoilt
	minKill    = 200 * time.Millisecond
	minRestart = time.Second // of coordinator and broker
	maxDelay   = 10 * time.Second
	maxOutage  = 5 * time.Minute
)

// Check returns what of a plan leaves a run no chance, by the names of the flags of chaos; the first thing that
// it finds. An outage may take half of the time at most.
func (p *Plan) Check() error {
	faults := &p.Faults
	for _, s := range []struct {
		name  string
		share float64
	}{{"drop", faults.Drop}, {"corrupt", faults.Corrupt}, {"nan", faults.NaN}} {
		if s.share > maxShare {
			return fmt.Errorf("--%s %g%%: at most %g%%, or the run makes no progress", s.name, 100*s.share, 100*maxShare)
		}
	}
	for _, s := range []struct {
		name       string
		every, min time.Duration
	}{
		{"kill", p.Kill, minKill},
		{"coordinator-kill", p.CoordinatorKill, minRestart},
		{"nats-restart", p.BrokerRestart, minRestart},
	} {
		if s.every > 0 && s.every < s.min {
			return fmt.Errorf("--%s %v: at least %v, or the run makes no progress", s.name, s.every, s.min)
		}
	}
	if faults.Delay.Most > maxDelay {
		return fmt.Errorf("--delay %v: at most %v", faults.Delay.Most, maxDelay)
	}
	for _, s := range []struct {
		name   string
		outage fault.Outage
	}{{"pause", p.Pause}, {"partition", faults.Partition}, {"disk-full", faults.DiskFull}} {
		switch {
		case s.outage.Length > maxOutage:
			return fmt.Errorf("--%s %v: at most %v", s.name, s.outage.Length, maxOutage)
		case s.outage.Length > 0 && s.outage.Every < 2*s.outage.Length:
			return fmt.Errorf("--%s %v: %v out of every %v leave too little time to go on; type --%s=%v/%v or more", s.name,
				s.outage, s.outage.Length, s.outage.Every, s.name, s.outage.Length, 2*s.outage.Length)
		}
	}
	return nil
}
