package kvae

import (
	"math"
	"slices"
	"testing"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/modeltest"
)

// TestForecast_OfMeansIsAGapAtTheEnd: a single path is what the smoother infers where nothing was seen any more.
func TestForecast_OfMeansIsAGapAtTheEnd(t *testing.T) {
	const known, horizon, n = 4, 5, 3
	m := lively(controlled, nil)
	f := m.NewForecaster().(*forecaster)
	whole := modeltest.Case{NX: 3, NU: 2}.Batch(known+horizon, n)
	prefix := whole
	prefix.T, prefix.Observations, prefix.Controls = known, whole.Observations[:known*n*3], whole.Controls[:known*n*2]
	var forecast model.Forecast
	f.Forecast(&forecast, model.Query{Prefix: prefix, Controls: whole.Controls[known*n*2:], Horizon: horizon, Samples: 1, Noise: modeltest.Noise(0)})

	whole.Seen = slices.Repeat([]float32{1}, len(whole.Observations))
	clear(whole.Seen[known*n*3:])
	clear(whole.Observations[known*n*3:])
	var smoothing model.Smoothing
	f.Smooth(&smoothing, whole)
	for i, v := range smoothing.Observations[known*n*3:] {
		if math.Abs(float64(v-forecast.Mean[i])) > 1e-4 {
			t.Fatalf("value %d: forecast %v, smoothed %v", i, forecast.Mean[i], v)
		}
	}
}

// TestSmooth_AgainstDenseGaussian: states in a gap are those of the joint distribution, and what is seen behind the gap
// changes them.
func TestSmooth_AgainstDenseGaussian(t *testing.T) {
	const steps, n = 6, 2
	m := lively(controlled, nil)
	f := m.NewForecaster().(*forecaster)
	b := modeltest.Case{NX: 3, NU: 2}.Batch(steps, n)
	b.Seen = slices.Repeat([]float32{1}, len(b.Observations))
	clear(b.Seen[2*n*3 : 5*n*3]) // steps 3 to 5
	clear(b.Observations[2*n*3 : 5*n*3])
	var got, other model.Smoothing
	f.Smooth(&got, b)
	tape := autodiff.NewInferenceTape(m.params)
	codes, _ := m.codec.encode(tape, tape.Constant(b.Observations, steps*n, 3))
	for i, o := range oraclesOf(m, b, codes.Value) {
		for step := range steps {
			row := step*n + i
			mean, cov := o.given(step)
			near(t, "mean", step, i, got.Mean[row*3:][:3], mean)
			var sd []float64
			for k := range 3 {
				sd = append(sd, math.Sqrt(cov.At(k, k)))
			}
			near(t, "standard deviation", step, i, got.SD[row*3:][:3], sd)
			code := times(o.c[step], mean)
			want, _ := m.codec.predict(tape, tape.Constant([]float32{float32(code[0]), float32(code[1])}, 1, 2))
			near(t, "observation", step, i, got.Observations[row*3:][:3], wide(want.Value))
		}
	}
	b.Observations[5*n*3]++
	f.Clone().(*forecaster).Smooth(&other, b)
	for step := range steps {
		row := step * n * 3
		if slices.Equal(got.Mean[row:][:3], other.Mean[row:][:3]) {
			t.Errorf("what is seen behind the gap does not change step %d", step+1)
		}
		if !slices.Equal(got.Mean[row+3:][:3], other.Mean[row+3:][:3]) {
			t.Errorf("step %d of another sequence changes", step+1)
		}
	}
}

// TestForecast_PathsSpreadAsTheyShould: of one base system and identical encoder and decoder, mean and variance of many
// paths are those of the exact prediction.
func TestForecast_PathsSpreadAsTheyShould(t *testing.T) {
	const samples, horizon = 20000, 3
	m := scalar(0.5)
	modeltest.Set(m, "encoder.mean.weight", 1, -1)
	q := model.Query{Horizon: horizon, Samples: samples, Noise: modeltest.Noise(3)}
	q.Prefix.Resize(2, 1, 1, 0)
	copy(q.Prefix.Observations, []float32{0.5, -0.3})
	var got model.Forecast
	m.NewForecaster().Forecast(&got, q)

	mean, variance := 0.0, 2.0
	for i, x := range []float64{0.5, -0.3} {
		if i > 0 {
			mean, variance = 0.9*mean, 0.81*variance+0.08
		}
		gain := variance * 0.7 / (0.49*variance + 0.3)
		mean += gain * (x - 0.7*mean)
		variance *= 1 - gain*0.7
	}
	for h := range horizon {
		mean, variance = 0.9*mean, 0.81*variance+0.08
		spread, want := 0.0, 0.49*variance+0.3
		for s := range samples {
			d := float64(got.Paths[s*horizon+h] - got.Mean[h])
			spread += d * d / samples
		}
		if math.Abs(float64(got.Mean[h])-0.7*mean) > 4*math.Sqrt(want/samples) || math.Abs(spread-want) > 0.05*want {
			t.Errorf("step %d: mean %v and variance %v, want %v and %v", h+1, got.Mean[h], spread, 0.7*mean, want)
		}
	}
}

// TestForecast_PathsSpreadBehindAGap: a value that is missing long before the forecast, for which every path has a prefix
// of its own, takes nothing from the spread of the paths; one path alone is still that of the means.
func TestForecast_PathsSpreadBehindAGap(t *testing.T) {
	const samples, steps, horizon = 400, 12, 3
	f := lively(controlled, nil).NewForecaster()
	spread := func(b model.Batch, paths int) (mean float64, draws []float32) {
		var got model.Forecast
		model.Ahead(f, &got, model.Query{
			Prefix: b, Controls: make([]float32, horizon*2), Horizon: horizon, Samples: paths, Noise: modeltest.Noise(3),
		})
		for i, v := range got.Paths {
			d := float64(v - got.Mean[i%len(got.Mean)])
			mean += d * d / float64(len(got.Paths))
		}
		return mean, got.Paths
	}
	whole := modeltest.Case{NX: 3, NU: 2}.Batch(steps, 1)
	gap := whole
	gap.Seen = slices.Repeat([]float32{1}, len(whole.Observations))
	gap.Seen[3] = 0
	want, _ := spread(whole, samples)
	if got, _ := spread(gap, samples); math.Abs(got-want) > 0.3*want {
		t.Errorf("paths behind a gap have the variance %v, want %v", got, want)
	}
	_, one := spread(whole, 1)
	_, other := spread(gap, 1)
	for i, v := range one {
		if math.Abs(float64(v-other[i])) > 0.1 {
			t.Errorf("value %d of the path of the means is %v, and %v behind a gap", i, v, other[i])
		}
	}
}

// TestCodec_LastLayerMeetsEveryPixel: the logits are the last layer of the pixels after the last subpixels, as the paper
// has it; the model exchanges the two.
func TestCodec_LastLayerMeetsEveryPixel(t *testing.T) {
	m := newModel(tiny(func(s *Settings) { s.Emission, s.Convolutions = "bernoulli", 2 }), pictured)
	tape, n := autodiff.NewInferenceTape(m.params), &m.codec
	draws, codes := modeltest.Noise(2), make([]float32, 6)
	draws.Normals(codes)
	a := tape.Constant(codes, 3, 2)
	x := n.start.Apply(tape, a)
	for _, c := range n.up {
		x = tape.Subpixel(c.Apply(tape, x, autodiff.ReLU), c.Out(), 2)
	}
	want := n.pixel.Apply(tape, x, autodiff.Identity)
	if got := n.logits(tape, a); !slices.Equal(got.Value, want.Value) {
		t.Errorf("logits %v, want %v", got.Value, want.Value)
	}
}

// TestSmooth_MemoryOfWideCodes: sequences with many channels are taken in small groups, since each step has matrices of
// the codes; no group shows in an answer.
func TestSmooth_MemoryOfWideCodes(t *testing.T) {
	const steps, n, most = 4, 512, 100 << 20
	m := newModel(tiny(nil), model.Data{NX: 64})
	f := m.NewForecaster().(*forecaster)
	b := modeltest.Case{NX: 64}.Batch(steps, n)
	var all, one model.Smoothing
	f.Smooth(&all, b)
	if bytes := f.tape.Bytes(); bytes > most {
		t.Errorf("smoothing %d steps of %d codes took %d MiB", steps*n, m.state.na, bytes>>20)
	}
	var last model.Batch
	last.Resize(steps, 1, b.NX, 0)
	for step := range steps {
		copy(last.Observations[step*b.NX:(step+1)*b.NX], b.Observations[(step*n+n-1)*b.NX:])
	}
	f.Smooth(&one, last)
	for step := range steps {
		at := (step*n + n - 1) * one.NZ
		if got, want := all.Mean[at:at+one.NZ], one.Mean[step*one.NZ:][:one.NZ]; !slices.Equal(got, want) {
			t.Errorf("step %d: %v among others, %v alone", step, got, want)
		}
	}
}
