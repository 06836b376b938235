package paper

import (
	"sync"
	"time"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/lead/job"
)

// Costs are what the trials of a study still take.
type Costs struct {
	Seconds        []float64 // of one core, by trial; 0: it is trained
	Measured       int       // configurations of which an update was timed
	Configurations int       // that are not trained, without their seeds
}

// configuration is what trials that differ in the seed alone have in common.
type configuration struct {
	config    config.Config
	perUpdate float64 // seconds; 0: not measured
}

// Costs times an update of as many configurations as a time limit allows, at least one, and estimates all trials.
// A configuration that is not timed counts as the mean of those on its environment, or of all. It blocks until all
// are timed or the limit is over, and then for as long as the updates under way take. The first error of a
// measurement is returned.
func (s *Study) Costs(limit time.Duration) (Costs, error) {
	var list []*configuration
	of := make([]*configuration, len(s.Trials))
	known := map[string]*configuration{}
	for i, t := range s.Trials {
		if s.Remaining(t) == 0 {
			continue
		}
		// The seed plays no part in what an update costs.
		c := t.Config.Clone()
		c.Seed = 0
		if known[c.Digest()] == nil {
			known[c.Digest()] = &configuration{config: c}
			list = append(list, known[c.Digest()])
		}
		of[i] = known[c.Digest()]
	}
	measured, err := s.timeUpdates(taken(list), limit)
	if err != nil {
		return Costs{}, err
	}
	costs := Costs{Seconds: make([]float64, len(s.Trials)), Measured: measured, Configurations: len(list)}
	for i, t := range s.Trials {
		if of[i] != nil {
			costs.Seconds[i] = float64(s.Remaining(t)) * perUpdate(of[i], list)
		}
	}
	return costs, nil
}

// taken are configurations with one of each environment in turn, so that a limit leaves none of these out.
func taken(list []*configuration) []*configuration {
	var order []string
	by := map[string][]*configuration{}
	for _, c := range list {
		kind := c.config.Env.Kind
		if by[kind] == nil {
			order = append(order, kind)
		}
		by[kind] = append(by[kind], c)
	}
	var turns []*configuration
	for n := 0; len(turns) < len(list); n++ {
		// The n-th of each environment, before the next of any.
		for _, kind := range order {
			if n < len(by[kind]) {
				turns = append(turns, by[kind][n])
			}
		}
	}
	return turns
}

// timeUpdates measures configurations in their order, as many at a time as there are runs at a time, until the
// limit. After an error nothing further is begun. measured counts those that were.
func (s *Study) timeUpdates(list []*configuration, limit time.Duration) (measured int, err error) {
	began := time.Now()
	var mu sync.Mutex
	var next int
	// At least one configuration is timed, whatever the limit.
	take := func() *configuration {
		mu.Lock()
		defer mu.Unlock()
		if err != nil || next == len(list) || next > 0 && time.Since(began) >= limit {
			return nil
		}
		next++
		return list[next-1]
	}
	var workers sync.WaitGroup
	for range max(s.Parallel, 1) {
		workers.Go(func() {
			for c := take(); c != nil; c = take() {
				seconds, _, fault := job.MeasureStep(c.config)
				mu.Lock()
				if c.perUpdate = seconds; fault != nil && err == nil {
					err = fault
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	return next, err
}

// perUpdate is what an update of a configuration takes, measured or as a mean of others. It is in seconds, 0 if
// nothing was measured. list are all configurations.
func perUpdate(c *configuration, list []*configuration) float64 {
	if c.perUpdate > 0 {
		return c.perUpdate
	}
	mean := func(counts func(*configuration) bool) float64 {
		sum, n := 0.0, 0
		for _, o := range list {
			if o.perUpdate > 0 && counts(o) {
				sum, n = sum+o.perUpdate, n+1
			}
		}
		return sum / float64(max(n, 1))
	}
	if m := mean(func(o *configuration) bool { return o.config.Env.Kind == c.config.Env.Kind }); m > 0 {
		return m
	}
	return mean(func(*configuration) bool { return true })
}
