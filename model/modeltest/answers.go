package modeltest

import (
	"math"
	"slices"
	"testing"

	"github.com/switchyard-ml/switchyard/model"
)

// answers checks what else a forecaster says that it can do: rows of a segmentation are probabilities, samples follow
// their controls and noise alone, a smoothing fills gaps, base systems are those of the transition, and equal questions
// have equal answers.
func (c Case) answers(t *testing.T) {
	f := c.New(t).NewForecaster()
	if s, ok := f.(model.Segmenter); ok {
		c.segment(t, s, f.Dims())
	}
	if s, ok := f.(model.Sampler); ok {
		c.sample(t, s, f.Dims())
	}
	if s, ok := f.(model.Smoother); ok {
		c.smooth(t, s, f.Dims())
	}
	if s, ok := f.(model.Systematic); ok {
		c.systems(t, f, s.Systems())
	}
}

// systems: base systems have the sizes of the model, and mixed by the weights of a step they move the state as the
// model does without noise, unless bodies act on each other, too.
func (c Case) systems(t *testing.T, f model.Forecaster, y model.Systems) {
	d := f.Dims()
	if y.M != d.M || y.NZ != d.NZ || y.NU != d.NU || len(y.A) != d.M*d.NZ*d.NZ || len(y.B) != d.M*d.NZ*d.NU ||
		len(y.Q) != len(y.A) {
		t.Errorf("systems %d, %d, %d of a model with %+v", y.M, y.NZ, y.NU, d)
	}
	stepper, ok := f.(model.Stepper)
	if !ok || c.Interacts {
		return
	}
	b := c.Batch(c.First+1, 1)
	var from, to model.Belief
	stepper.Begin(&from, b.Steps(0, c.First))
	u := b.Controls[c.First*c.NU:]
	stepper.Advance(&to, &from, u, model.Disturbance{})
	weights := make([]float64, d.M)
	for i, w := range to.Weights {
		weights[i] = float64(w)
	}
	one := y.Mix(weights)
	for i := range d.NZ {
		mean, variance := one.Bias[i], one.Q[i*(d.NZ+1)]
		for j, z := range from.Z {
			mean += one.A[i*d.NZ+j] * float64(z)
		}
		for j, v := range u {
			mean += one.B[i*d.NU+j] * float64(v)
		}
		if got := float64(to.Mean[i]); math.Abs(got-mean) > 1e-5*(1+math.Abs(mean)) {
			t.Errorf("dimension %d: mean %v, that of the mixed systems is %v", i, got, mean)
		}
		if got := float64(to.Variance[i]); math.Abs(got-variance) > 1e-5*variance {
			t.Errorf("dimension %d: variance %v, that of the mixed systems is %v", i, got, variance)
		}
	}
}

// segment: rows of probabilities sum to 1, for each body where there are several; the first step, which no transition
// leads to, has the row of the second; equal questions have equal answers; and a sequence of a single step is
// segmented, too.
func (c Case) segment(t *testing.T, f model.Segmenter, d model.Dims) {
	b := c.Batch(c.First+4, 2)
	var got, again model.Segmentation
	f.Segment(&got, b, 3, Noise(1))
	f.Segment(&again, b, 3, Noise(1))
	if got.T != b.T || got.M != d.M || !slices.Equal(got.Probability, again.Probability) {
		t.Errorf("%d steps of %d regimes; a second answer is equal: %v", got.T, got.M,
			slices.Equal(got.Probability, again.Probability))
	}
	// Each body has a row of its own within a step.
	each := d.M / d.Switches()
	for i := 0; i < len(got.Probability); i += each {
		sum := float32(0)
		for _, p := range got.Probability[i : i+each] {
			sum += p
		}
		if math.Abs(float64(sum)-1) > 1e-5 {
			t.Fatalf("row %d sums to %v", i/each, sum)
		}
	}
	if row := b.B * d.M; !slices.Equal(got.Probability[:row], got.Probability[row:2*row]) {
		t.Errorf("the first step has %v, the second %v", got.Probability[:row], got.Probability[row:2*row])
	}
	f.Segment(&got, c.Batch(1, 2), 2, Noise(1))
	if got.T != 1 || len(got.Probability) != 2*d.M {
		t.Error("a single step is not segmented")
	}
}

// sample: draws are finite and differ between sequences; states up to a step do not depend on controls that act
// later, and not at all on those of the first step.
func (c Case) sample(t *testing.T, f model.Sampler, d model.Dims) {
	q := model.SampleQuery{T: 6, B: 3, Controls: make([]float32, 6*3*c.NU), Noise: Noise(3)}
	draws := Noise(4)
	draws.Normals(q.Controls)
	var got, other model.Sampling
	f.Sample(&got, q)
	f.Sample(&other, q)
	if len(got.Draw) != 6*3*c.NX || len(got.States) != 6*3*d.NZ || !slices.Equal(got.Draw, other.Draw) ||
		!slices.Equal(got.States, other.States) {
		t.Error("the same question has another sample")
	}
	if slices.ContainsFunc(got.Draw, func(v float32) bool { return math.IsNaN(float64(v)) }) ||
		slices.Equal(got.Draw[:c.NX], got.Draw[c.NX:2*c.NX]) {
		t.Errorf("draws %v", got.Draw)
	}
	if c.NU == 0 {
		return
	}
	for i := range 3 * c.NU { // of the first step, and of the fourth
		q.Controls[i]++
		q.Controls[3*3*c.NU+i]++
	}
	f.Sample(&other, q)
	// Steps 0 to 2 of three sequences come before the control that was changed acts.
	before := 3 * 3 * d.NZ
	if !slices.Equal(got.States[:before], other.States[:before]) {
		t.Error("a control changes states before it acts, or one of the first step acts")
	}
	if c.Controlled() && slices.Equal(got.States[before:before+3*d.NZ], other.States[before:before+3*d.NZ]) {
		t.Error("a control has no effect")
	}
}

// smooth: a step without observations is filled in with finite numbers, and what stands behind the mask has no
// influence on any step.
func (c Case) smooth(t *testing.T, f model.Smoother, d model.Dims) {
	b := c.Batch(c.First+5, 2)
	b.Seen = slices.Repeat([]float32{1}, len(b.Observations))
	// The gap is a whole step behind those that the initial state is inferred from.
	gap := (c.First + 1) * 2 * c.NX
	clear(b.Seen[gap : gap+2*c.NX])
	clear(b.Observations[gap : gap+2*c.NX])
	var got, other model.Smoothing
	f.Smooth(&got, b)
	for i := range 2 * c.NX {
		b.Observations[gap+i] = 9 // behind the mask
	}
	f.Smooth(&other, b)
	if len(got.Mean) != b.T*2*d.NZ || !slices.Equal(got.Mean, other.Mean) ||
		!slices.Equal(got.Observations, other.Observations) {
		t.Error("a missing value has influence, or a second answer differs")
	}
	if slices.ContainsFunc(append(got.SD, got.Observations...), func(v float32) bool { return math.IsNaN(float64(v)) }) {
		t.Error("a smoothing is not finite")
	}
}
