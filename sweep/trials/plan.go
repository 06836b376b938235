package trials

import (
	"fmt"
	"time"

	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/sweep"
)

// Plan is what a sweep will do. Trials may differ in their length: it looks at configurations that the sweep may try.
type Plan struct {
	Work     sweep.Work // what it computes
	Seconds  float64    // of one core, for all updates, by measured shards
	PerStep  float64    // seconds of one core for an update, the mean over the updates of Measured configurations
	Measured int
	Most     int64            // bytes on the disk at the end, at most about
	First    []sweep.Settings // configurations that it may try: drawn as without any result
	// Shortest and Longest are the rungs of two configurations, whose trainings have the fewest updates and the most.
	Shortest, Longest []uint64
}

// planSamples and planTime limit how long configurations are measured for a plan.
const (
	planSamples = 6
	planTime    = 5 * time.Second
	planListed  = 9
)

// Plan measures a few configurations that the sweep may try, on one core of this machine, and counts. It takes a
// few seconds, and longer for a model whose update does. It returns sweep.ErrSpec if none of the draws is valid.
func (j *Job) Plan() (*Plan, error) {
	s := &j.File.Spec
	tried := j.File.sampled(j.Base, planTried)
	if len(tried) == 0 {
		return nil, fmt.Errorf("%w: no configuration is valid", sweep.ErrSpec)
	}
	valid := func(c sweep.Settings) error { _, err := j.Base.Of(c); return err }
	p := &Plan{First: s.Sample(min(planListed, s.Trials), valid)}
	var lengths [][]uint64
	for _, c := range tried {
		rungs := j.Base.Rungs(s.Stop, c.config)
		lengths = append(lengths, rungs)
		end := rungs[len(rungs)-1]
		if p.Shortest == nil || end < p.Shortest[len(rungs)-1] {
			p.Shortest = rungs
		}
		if p.Longest == nil || end > p.Longest[len(rungs)-1] {
			p.Longest = rungs
		}
	}
	p.Work = s.Work(lengths)
	bytes, err := p.measure(spread(tried, planSamples))
	if err != nil {
		return nil, err
	}
	const line = 350 // at most about so many bytes of metrics.jsonl and of log.jsonl for an update
	// As many runs keep their checkpoints; all have metrics and a log.
	kept := float64(p.Work.Whole)
	if j.File.Keep == "all" {
		kept = float64(p.Work.Runs)
	}
	if j.File.Keep == "best" {
		kept = 1
	}
	p.Most = int64(kept*3*bytes + 2*line*p.Work.Updates)
	return p, nil
}

// measure sets what updates cost, by a few configurations, and returns the mean size of a checkpoint. Who trains
// longer weighs more.
func (p *Plan) measure(few []candidate) (bytes float64, err error) {
	updates := 0.0
	for began := time.Now(); p.Measured < len(few) && (p.Measured == 0 || time.Since(began) < planTime); p.Measured++ {
		c := few[p.Measured]
		seconds, size, err := job.MeasureStep(c.config)
		if err != nil {
			return 0, fmt.Errorf("measure a step of %v: %w", c.settings.Arguments(), err)
		}
		length := float64(max(c.config.Train.Steps, 1))
		p.PerStep, updates, bytes = p.PerStep+seconds*length, updates+length, bytes+size
	}
	p.PerStep /= updates
	p.Seconds = p.PerStep * p.Work.Updates
	return bytes / float64(p.Measured), nil
}
