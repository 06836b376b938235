package cmd

import (
	"errors"
	"slices"
	"time"

	"github.com/switchyard-ml/switchyard"
	"github.com/switchyard-ml/switchyard/trained"
)

// benchFilterStep measures filter steps without HTTP, where the family has them.
func (a *app) benchFilterStep(name string, nx, nu int, r *serveReport) error {
	run, err := a.open(name, trained.Best)
	if err != nil {
		return err
	}
	online, err := run.Online()
	if errors.Is(err, switchyard.ErrUnable) {
		return nil
	}
	if err != nil {
		return err
	}
	state := &switchyard.State{}
	next := switchyard.Observation{Values: make([]float64, nx), Controls: make([]float64, nu)}
	var times []float64
	for n := range 5000 {
		for i := range nx {
			next.Values[i] = float64((7*n+3*i)%13)/13 - 0.5
		}
		began := time.Now()
		if err := online.Step([]*switchyard.State{state}, []switchyard.Observation{next}); err != nil {
			return err
		}
		if n > 100 {
			times = append(times, time.Since(began).Seconds())
		}
	}
	slices.Sort(times)
	r.ComputeSeconds, r.ComputeP99 = times[len(times)/2], times[len(times)*99/100]
	return nil
}
