package bench

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/worker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// toy is a program whose gradient points to the shard's number.
type toy struct{ theta []float32 }

func (p *toy) Size() int           { return 300 }
func (p *toy) TermNames() []string { return []string{"loss"} }

func (p *toy) Load(_ uint64, theta []float32) error {
	p.theta = append(p.theta[:0], theta...)
	return nil
}

func (p *toy) Gradient(_ int, step uint64, shard int, grad, terms []float32) error {
	for i := range grad {
		grad[i] = float32(shard+1) * float32(i%7-3) * (1 + float32(step))
	}
	terms[0] = float32(shard)
	return nil
}

func (p *toy) Validate(_ int, _ uint64, _ int, terms []float32) error {
	terms[0] = 0
	return nil
}

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		samples []float64
		want    Spread
	}{
		{[]float64{3}, Spread{3, 3, 3}},
		{[]float64{5, 1, 3}, Spread{3, 1, 5}},
		{[]float64{8, 1, 3, 4}, Spread{3.5, 1, 8}},
	} {
		if got := spread(c.samples); got != c.want {
			t.Errorf("got %+v, want %+v", got, c.want)
		}
	}
}

// The parameters do not depend on the number of threads, so what is timed is the whole step.
func TestPlain_SameBitsOnAnyThreads(t *testing.T) {
	var want []float32
	for _, threads := range []int{1, 2, 3, 8, 11} {
		p := newPlain(&toy{}, make([]float32, 300), 8, threads)
		for range 5 {
			if err := p.run(); err != nil {
				t.Fatal(err)
			}
		}
		if want == nil {
			want = p.theta
		}
		if !slices.Equal(p.theta, want) || p.theta[0] == 0 {
			t.Errorf("%d threads: other parameters", threads)
		}
		p.close()
	}
}

func TestMeasureStep(t *testing.T) {
	s, err := MeasureStep(&toy{}, make([]float32, 300), 4, 2, func() float64 { return 1e6 }, Budget{Steps: 40})
	if err != nil {
		t.Fatal(err)
	}
	if s.Steps != 40 || s.Threads != 2 || s.Seconds.Min <= 0 || s.Seconds.Median < s.Seconds.Min || s.Seconds.Max < s.Seconds.Median {
		t.Errorf("%+v", s)
	}
	if s.PeakGFLOPS <= 0 || math.Abs(s.GFLOPS-1e-3/s.Seconds.Median) > 1e-9*s.GFLOPS {
		t.Errorf("%+v", s)
	}
}

// wasteful allocates 48 bytes for each gradient.
type wasteful struct {
	toy
	kept [2]*[48]byte
}

func (p *wasteful) Gradient(slot int, step uint64, shard int, grad, terms []float32) error {
	p.kept[slot] = new([48]byte)
	return p.toy.Gradient(slot, step, shard, grad, terms)
}

// What the step allocates is counted, to the byte, and nothing that others allocate meanwhile.
func TestMeasureStep_Allocations(t *testing.T) {
	stop, others := make(chan bool), make(chan bool)
	go func() {
		defer close(others)
		var waste [8][]byte
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				waste[i%8] = make([]byte, 1000)
			}
		}
	}()
	for _, c := range []struct {
		program       worker.Program
		allocs, bytes float64
	}{{&wasteful{}, 4, 4 * 48}, {&toy{}, 0, 0}} {
		s, err := MeasureStep(c.program, make([]float32, 300), 4, 1, func() float64 { return 1 }, Budget{Steps: 20})
		if err != nil {
			t.Fatal(err)
		}
		if s.AllocsPerStep < c.allocs || s.AllocsPerStep > c.allocs+0.5 || s.BytesPerStep < c.bytes || s.BytesPerStep > c.bytes+64 {
			t.Errorf("%T: %v allocations and %v bytes a step, want %v and %v", c.program, s.AllocsPerStep, s.BytesPerStep, c.allocs, c.bytes)
		}
	}
	close(stop)
	<-others
}

func TestMeasureWire(t *testing.T) {
	w, err := MeasureWire(t.Context(), toyWire(t))
	if err != nil {
		t.Fatal(err)
	}
	// At least one block of 300 parameters comes in, and the parameters go out once for all.
	if w.Steps != 10 || w.BytesIn < 1200 || w.BytesOut < 1200 || w.Seconds.Min <= 0 || w.PlainSeconds.Min <= 0 {
		t.Errorf("%+v", w)
	}
}

// toyWire measures 5 steps of two workers, twice.
func toyWire(t *testing.T) WireConfig {
	bus := wire.NewMemory(nil)
	return WireConfig{
		Run: coordinator.Config{
			Shards: 4, Chunk: 1024, Credit: 1 << 20, FailureDetection: 5 * time.Second, TermNames: []string{"loss"},
			Optimizer: coordinator.Optimizer{Rate: 1e-3, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8},
		},
		Theta: make([]float32, 300), Workers: 2, Dir: t.TempDir(), Turns: 2, Steps: 5,
		Program: func(int) (worker.Program, error) { return &toy{}, nil },
		Connect: func(string) (wire.Bus, error) { return bus, nil },
	}
}

func TestSummary(t *testing.T) {
	got := Summary([]Kernel{
		{Op: forward, M: 16, N: 32, K: 32, PeakFraction: 0.5},
		{Op: forward, M: 16, N: 64, K: 32, PeakFraction: 0.125},
		{Op: weights, M: 32, N: 32, K: 640, PeakFraction: 0.75},
		{Op: "exp", Nanoseconds: 1},
	})
	want := []Kernel{{Op: forward, M: 16, PeakFraction: 0.25}, {Op: weights, M: 640, PeakFraction: 0.75}}
	if len(got) != len(want) {
		t.Fatalf("got %+v", got)
	}
	for i := range want {
		if got[i].Op != want[i].Op || got[i].M != want[i].M || math.Abs(got[i].PeakFraction-want[i].PeakFraction) > 1e-12 {
			t.Errorf("got %+v, want %+v", got[i], want[i])
		}
	}
}

func TestShapes_CoverTheStudy(t *testing.T) {
	if n := len(shapes()); n != 25*6*2+25*4 {
		t.Errorf("%d shapes", n)
	}
	for _, f := range functions() {
		f.run()
	}
}

func TestMeasureLoad(t *testing.T) {
	bus := wire.NewMemory(nil)
	cfg := LoadConfig{
		Run: coordinator.Config{
			Shards: 4, Chunk: 400, Credit: 1 << 20,
			Optimizer: coordinator.Optimizer{Rate: 1e-3, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8},
		},
		Theta: make([]float32, 300), Program: &toy{}, Turns: 3, Connect: func(string) (wire.Bus, error) { return bus, nil },
	}
	l, err := MeasureLoad(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if l.Shards != 4 || l.Parameters != 300 || l.Chunk != 400 || l.Credit != 1<<20 || min(l.Shard, l.Install, l.Merge, l.Update, l.Send, l.Deliver) < 0 {
		t.Errorf("%+v", l)
	}
	cfg.Connect = func(string) (wire.Bus, error) { return nil, errors.New("no broker") }
	if _, err := MeasureLoad(cfg); err == nil {
		t.Error("no connection is no error")
	}
}
