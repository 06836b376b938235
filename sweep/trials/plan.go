package trials

import (
	"fmt"
	"time"

	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/sweep"
)

// Plan is what a sweep will do.
type Plan struct {
	Work     sweep.Work // what it computes, by its spec
	Seconds  float64    // of one core, for all updates, by measured shards
	PerStep  float64    // seconds of one core for an update, the mean over Measured configurations
	Measured int
	Most     int64            // bytes on the disk at the end, at most about
	First    []sweep.Settings // configurations that it may try: drawn as without any result
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
	valid := func(c sweep.Settings) error { _, err := j.Base.Of(c); return err }
	p := &Plan{Work: s.Work(), First: s.Sample(min(planListed, s.Trials), valid)}
	bytes := 0.0
	for began := time.Now(); p.Measured < min(planSamples, len(p.First)) &&
		(p.Measured == 0 || time.Since(began) < planTime); p.Measured++ {
		c, err := j.Base.Of(p.First[p.Measured])
		if err != nil {
			return nil, err
		}
		seconds, size, err := job.MeasureStep(c)
		if err != nil {
			return nil, fmt.Errorf("measure a step of %v: %w", p.First[p.Measured].Arguments(), err)
		}
		p.PerStep += seconds
		bytes += size
	}
	if p.Measured == 0 {
		return nil, fmt.Errorf("%w: no configuration is valid", sweep.ErrSpec)
	}
	// From here on these are means over the measured configurations.
	p.PerStep /= float64(p.Measured)
	bytes /= float64(p.Measured)
	p.Seconds = p.PerStep * p.Work.Updates
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
