package worker

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"slices"
	"testing"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
	"github.com/switchyard-ml/switchyard/envs/fhn"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/slds"
	"github.com/switchyard-ml/switchyard/model/statespace"
	"github.com/switchyard-ml/switchyard/rng"
)

func testConfig(switching slds.Switching) slds.Config {
	return slds.Config{
		Nets: statespace.Nets{
			Dims:   model.Dims{NX: 2, NU: 1, NZ: 4, M: 8},
			Hidden: 32, EncoderHidden: 32, InitialObservations: 3,
			Emission: statespace.Gaussian, EmissionSD: statespace.StateSD,
		},
		Switching: switching, Weights: statespace.Softmax, Measurement: slds.LSTM, MeasurementControls: true,
		Residual: true, Gate: true, KLSamples: 10, VarianceFloor: 1e-5, Rollout: slds.RolloutSample,
		Anneal: slds.Anneal{Posterior: 0.67, Prior: 2, Start: 10, Rate: 0.95, Every: 100, KLSwitch: 0.1},
	}
}

func testShards(t testing.TB, switching slds.Switching, slots int) *Shards {
	t.Helper()
	m, err := slds.New(testConfig(switching), rng.New(1, rng.Init))
	if err != nil {
		t.Fatal(err)
	}
	env, err := fhn.New(fhn.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	from, err := NewSimulated(env, 1, 5, 4, 60)
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewShards(m, from, Sampling{Seed: 1, Batch: 8, Shards: 4, Window: 20, Validation: 4}, slots)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// train runs ten steps of plain Adam on one goroutine and returns the losses and the hash of θ.
func train(t testing.TB, p *Shards) (losses []float32, hash string) {
	t.Helper()
	theta := slices.Clone(p.model.Params().Values)
	m, v := make([]float32, len(theta)), make([]float32, len(theta))
	sum, grad := make([]float32, len(theta)), make([]float32, len(theta))
	terms := make([]float32, len(p.TermNames()))
	for step := range uint64(10) {
		if err := p.Load(step, theta); err != nil {
			t.Fatal(err)
		}
		clear(sum)
		var loss float32
		for shard := range p.sampling.Shards {
			if err := p.Gradient(0, step, shard, grad, terms); err != nil {
				t.Fatal(err)
			}
			kernel.Add(sum, grad)
			loss += terms[0] / float32(p.sampling.Shards)
		}
		losses = append(losses, loss)
		kernel.Adam(theta, m, v, sum, kernel.AdamStep{
			Beta1: 0.9, OneMinusBeta1: 0.1, Beta2: 0.999, OneMinusBeta2: 0.001, Rate: 5e-4, Eps: 1e-8,
		})
	}
	digest := sha256.New()
	for _, x := range theta {
		digest.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(x)))
	}
	return losses, hex.EncodeToString(digest.Sum(nil))
}

// golden are ten losses and the parameters after them, of the first seed. The numbers are those of
// this package's own first run: they hold the arithmetic of kernels, model, environment and random
// numbers in place, on every instruction set.
var golden = map[slds.Switching]struct {
	losses []float32
	hash   string
}{
	slds.Concrete: {
		losses: []float32{8.933643, 8.492176, 5.163851, 7.306743, 7.630184, 7.4889984, 6.787428, 6.2759094, 6.5880194, 6.7368183},
		hash:   "9cc89133872fbad4d735c64e1fe0d41db3a4d21567cb13c6f57171872e40feb7",
	},
	slds.Normal: {
		losses: []float32{8.544494, 7.8966475, 4.512194, 6.5900927, 6.890723, 6.431101, 6.0141315, 4.6656337, 5.0016294, 5.3888144},
		hash:   "3bbaf3513c09b320c734544cea852da89b81aa62957d0393a810f2902ce4289c",
	},
}

func TestGoldenRun(t *testing.T) {
	active := kernel.Active()
	defer func() {
		if err := kernel.Use(active); err != nil {
			t.Fatal(err)
		}
	}()
	for _, isa := range kernel.Available() {
		if err := kernel.Use(isa); err != nil {
			t.Fatal(err)
		}
		for switching, want := range golden {
			losses, hash := train(t, testShards(t, switching, 1))
			if !slices.Equal(losses, want.losses) {
				t.Errorf("%s on %v: losses %v, want %v", switching, isa, losses, want.losses)
			}
			if hash != want.hash {
				t.Errorf("%s on %v: parameters %s, want %s", switching, isa, hash, want.hash)
			}
		}
	}
}

// TestShards_SlotsAgree: a shard's gradient does not depend on the slot, on what the slot computed
// before or on validation in between.
func TestShards_SlotsAgree(t *testing.T) {
	p := testShards(t, slds.Concrete, 2)
	n, k := p.Size(), len(p.TermNames())
	first, second := make([]float32, n+k), make([]float32, n+k)
	shard := func(slot int, step uint64, shard int, out []float32) {
		if err := p.Gradient(slot, step, shard, out[:n], out[n:]); err != nil {
			t.Fatal(err)
		}
	}
	shard(0, 3, 2, first)
	shard(1, 4, 1, second)
	validation := make([]float32, k)
	if err := p.Validate(1, 4, 1, validation); err != nil {
		t.Fatal(err)
	}
	shard(1, 3, 2, second)
	if !slices.Equal(first, second) {
		t.Error("the gradient of a shard depends on its slot or on what came before")
	}
	again := make([]float32, k)
	if err := p.Validate(0, 9, 1, again); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(validation, again) {
		t.Errorf("validation at unchanged parameters gives %v and %v", validation, again)
	}
	for other := range 4 {
		shard(0, 3, other, second)
		if other != 2 && slices.Equal(first, second) {
			t.Errorf("shards 2 and %d are equal", other)
		}
	}
}

// TestShards_EpisodesAreTheSameWhenTheyAreNotKept compares the memory of episodes with simulating anew.
func TestShards_EpisodesAreTheSameWhenTheyAreNotKept(t *testing.T) {
	kept, fresh := testShards(t, slds.Normal, 1), testShards(t, slds.Normal, 1)
	fresh.sequences.(*Simulated).training.kept = nil
	a, b := make([]float32, kept.Size()), make([]float32, kept.Size())
	terms := make([]float32, 5)
	for step := range uint64(5) {
		if err := kept.Gradient(0, step, 0, a, terms); err != nil {
			t.Fatal(err)
		}
		if err := fresh.Gradient(0, step, 0, b, terms); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(a, b) {
			t.Fatalf("step %d differs", step)
		}
	}
}

// window is part of episode 3 of the training set.
func window(p *Shards, first int) Window {
	var w Window
	p.sequences.(*Simulated).training.window(&w, 3, first, p.sampling.Window)
	return w
}

// TestBatch_WindowDropsItsFirstControl and keeps all others at their place.
func TestBatch_WindowDropsItsFirstControl(t *testing.T) {
	p := testShards(t, slds.Normal, 1)
	w := window(p, 7)
	var b batch
	b.begin(p, 2)
	b.filled = 1
	b.place(&w)
	for step := range p.sampling.Window {
		row := step*2 + 1
		want := w.Controls[7+step]
		if step == 0 {
			want = 0
		}
		if got := b.Controls[row]; got != want {
			t.Errorf("control of window step %d is %v, want %v", step, got, want)
		}
		if !slices.Equal(b.Observations[2*row:2*row+2], w.Observations[2*(7+step):2*(8+step)]) {
			t.Errorf("observation of window step %d is not that of the episode", step)
		}
	}
}

// TestBatch_WindowKeepsMissingValues: the batch has a mask as soon as one of its windows misses a
// value, with ones for the others.
func TestBatch_WindowKeepsMissingValues(t *testing.T) {
	p := testShards(t, slds.Normal, 1)
	whole := window(p, 5)
	var b batch
	b.begin(p, 3)
	gap := whole
	gap.Seen = slices.Repeat([]float32{1}, len(whole.Observations))
	gap.Seen[2*(5+4)+1] = 0 // second dimension of the fifth step of the window
	b.place(&whole)
	if b.Seen != nil {
		t.Error("a batch without missing values has a mask")
	}
	b.place(&gap)
	b.place(&whole)
	for i, seen := range b.Seen {
		want := float32(1)
		if i == (4*3+1)*2+1 {
			want = 0
		}
		if seen != want {
			t.Errorf("element %d of the mask is %v", i, seen)
		}
	}
}

func TestNewShards_RefusesWhatDoesNotDivide(t *testing.T) {
	p := testShards(t, slds.Normal, 1)
	for _, change := range []func(*Sampling){
		func(s *Sampling) { s.Batch = 7 },
		func(s *Sampling) { s.Validation = 3 },
		func(s *Sampling) { s.Batch = 0 },
		func(s *Sampling) { s.Validation = 0 },
		func(s *Sampling) { s.Window = 1 },
		func(s *Sampling) { s.Shards = 0 },
	} {
		s := p.sampling
		change(&s)
		if _, err := NewShards(p.model, p.sequences, s, 1); err == nil {
			t.Errorf("no error for %+v", s)
		}
	}
}

func BenchmarkGradient(b *testing.B) {
	for _, switching := range []slds.Switching{slds.Concrete, slds.Normal} {
		b.Run(string(switching), func(b *testing.B) {
			p := testShards(b, switching, 1)
			grad, terms := make([]float32, p.Size()), make([]float32, 5)
			b.ReportAllocs()
			for b.Loop() {
				if err := p.Gradient(0, 0, 0, grad, terms); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(p.slots[0].tape.Flops()*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}
