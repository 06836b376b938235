package bench

import (
	"fmt"
	"io"
	"runtime/pprof"
	"time"

	"github.com/switchyard-ml/switchyard/worker"
)

// Budget is the length of a measurement: it ends when at least Steps were made and at least Time has gone by.
type Budget struct {
	Steps int
	Time  time.Duration
	// gets the CPU profile of the steps that count, and of the short measurements of the peak between them; nil: no
	// profile
	Profile io.Writer
}

// warmUp is the number of steps before the first that counts. They grow the memory and fill the caches.
const warmUp = 3

// Step is a measured training step.
type Step struct {
	Threads       int     `json:"threads"`
	Steps         int     `json:"steps"`
	Seconds       Spread  `json:"step_seconds"` // of one step, by the clock
	GFLOPS        float64 `json:"gflops"`       // at the median time
	PeakGFLOPS    float64 `json:"peak_gflops"`  // of the FMA units of the same cores, measured between the steps
	PeakFraction  float64 `json:"peak_fraction"`
	AllocsPerStep float64 `json:"allocs_per_step"` // allocations, in the mean
	BytesPerStep  float64 `json:"bytes_per_step"`  // allocated
}

// MeasureStep measures updates of a program with a slot for each thread: loading of the parameters, the shards'
// gradients, their reduction, clipping and Adam. flops returns the operations of one step in matrix products; it
// is asked for after the last step. theta is not changed.
func MeasureStep(program worker.Program, theta []float32, shards, threads int, flops func() float64, b Budget) (Step,
	error,
) {
	p := newPlain(program, theta, shards, threads)
	defer p.close()
	for range warmUp {
		if err := p.run(); err != nil {
			return Step{}, fmt.Errorf("warm up: %w", err)
		}
	}
	var samples []float64
	peak := Peak(threads)
	var allocated allocations
	err := allocated.begin(p.run)
	defer allocated.stop()
	if err != nil {
		return Step{}, err
	}
	if b.Profile != nil {
		if err := pprof.StartCPUProfile(b.Profile); err != nil {
			return Step{}, fmt.Errorf("start the profile: %w", err)
		}
		defer pprof.StopCPUProfile()
	}
	for began := time.Now(); len(samples) < b.Steps || time.Since(began) < b.Time; {
		start := time.Now()
		if err := p.run(); err != nil {
			return Step{}, err
		}
		samples = append(samples, time.Since(start).Seconds())
		// The peak is measured under the same heat and load as the steps, and between them, so that it costs none
		// of their time.
		if len(samples)%16 == 0 {
			peak = max(peak, peakOnce(threads))
		}
	}
	count, bytes := allocated.end()
	s := Step{Threads: threads, Steps: len(samples), Seconds: spread(samples), PeakGFLOPS: peak / 1e9}
	s.GFLOPS = flops() / s.Seconds.Median / 1e9
	s.PeakFraction = s.GFLOPS / s.PeakGFLOPS
	s.AllocsPerStep = float64(count) / float64(len(samples))
	s.BytesPerStep = float64(bytes) / float64(len(samples))
	return s, nil
}
