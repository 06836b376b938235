package scaling

import (
	"math"
	"testing"
)

func TestParseStragglers(t *testing.T) {
	for _, text := range []string{"", "none:1", "lognormal", "lognormal:0", "lognormal:x", "lognormal:NaN", "pareto:1", "uniform:2"} {
		if s, err := ParseStragglers(text); err == nil {
			t.Errorf("%q: got %+v, want an error", text, s)
		}
	}
	if s, err := ParseStragglers("pareto:2.5"); err != nil || s != (Stragglers{"pareto", 2.5}) {
		t.Errorf("got %+v, %v", s, err)
	}
}

// intervals is the number of intervals of the numerical integral below.
const intervals = 20_000

// expectedMax is the mean of the largest of n independent factors:
//
//	E[max] = ∫₀¹ Q(u)·n·uⁿ⁻¹ du = ∫₀¹ Q(v^(1/n)) dv
//
// with the quantile function Q. For Pareto it is Γ(n+1)·Γ(1−1/α)/Γ(n+1−1/α), for lognormal the value of the midpoint
// rule.
func (s Stragglers) expectedMax(n int) float64 {
	if s.Kind == "pareto" {
		a, _ := math.Lgamma(float64(n) + 1)
		b, _ := math.Lgamma(1 - 1/s.Param)
		c, _ := math.Lgamma(float64(n) + 1 - 1/s.Param)
		return math.Exp(a + b - c)
	}
	sum := 0.0
	for i := range intervals {
		v := (float64(i) + 0.5) / intervals
		sum += s.quantile(math.Pow(v, 1/float64(n)))
	}
	return sum / intervals
}

func TestExpectedMax(t *testing.T) {
	phi := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	for _, c := range []struct {
		s    Stragglers
		n    int
		want float64
	}{
		{Stragglers{Kind: "none"}, 100, 1},
		{Stragglers{"lognormal", 0.5}, 1, math.Exp(0.125)},
		{Stragglers{"lognormal", 1}, 2, 2 * math.Exp(0.5) * phi(1/math.Sqrt2)}, // Clark 1961
		{Stragglers{"pareto", 2}, 1, 2},
		{Stragglers{"pareto", 2}, 2, 8.0 / 3},
	} {
		if got := c.s.expectedMax(c.n); math.Abs(got-c.want) > 2e-3*c.want {
			t.Errorf("%+v of %d: got %g, want %g", c.s, c.n, got, c.want)
		}
	}
}

// Without stragglers the simulation is the model.
func TestSimulate_WithoutStragglersAsPredicted(t *testing.T) {
	slow := four
	slow.Latency = 0.05
	three := four
	three.Workers, three.Machines = 3, 3
	for _, c := range []Cluster{four, slow, three} {
		for _, w := range []Wire{Float32, Int16, LocalSteps(4, 5)} {
			want := Predict(load, c, w)
			got := Simulate(load, c, w, Stragglers{Kind: "none"}, Speculation{1.5, 1}, 1, 3)
			if math.Abs(got.Seconds-want.Seconds) > 1e-9 {
				t.Errorf("%d workers, %+v: got %+v, want %+v", c.Workers, w, got, want)
			}
		}
	}
}

// With one wave and a link that costs nothing a step lasts as long as the slowest of its leases.
func TestSimulate_SlowestOfMany(t *testing.T) {
	l := load
	l.Shards = 64
	c := Cluster{Workers: 64, Slots: 1, Machines: 64, Cores: 1, Link: 1e15}
	for _, s := range []Stragglers{{"lognormal", 0.5}, {"pareto", 4}} {
		want := l.Shard * s.expectedMax(64)
		if got := Simulate(l, c, Float32, s, Speculation{}, 1, 1000).Compute; math.Abs(got-want) > 0.05*want {
			t.Errorf("%+v: got %g, want %g", s, got, want)
		}
	}
}

func TestSimulate_SpeculationHelpsWhereSomebodyIsIdle(t *testing.T) {
	l := load
	l.Shards = 32
	c := Cluster{Workers: 40, Slots: 1, Machines: 40, Cores: 1, Link: 1e15}
	s := Stragglers{"pareto", 1.5}
	run := func(spec Speculation, seed uint64) float64 {
		return Simulate(l, c, Float32, s, spec, seed, 300).Compute
	}
	without, with, late := run(Speculation{}, 1), run(Speculation{1.5, 0}, 1), run(Speculation{1.5, 1e6}, 1)
	if with > 0.8*without || late != without {
		t.Errorf("compute takes %g s with speculation, %g without, %g with speculation that comes too late", with, without, late)
	}
	if again := run(Speculation{1.5, 0}, 1); again != with {
		t.Errorf("the same seed gives %g and %g", with, again)
	}
	if other := run(Speculation{1.5, 0}, 2); other == with {
		t.Error("another seed gives the same")
	}
}
