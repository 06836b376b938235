package eval_test

import (
	"math"
	"slices"
	"testing"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

func probeTask() eval.Task {
	o := task(100)
	o.Training = 100
	return o
}

// TestVelocity_TheStateHasAll: a latent state that is the true one gives R² 1; one that lags by a step does not.
func TestVelocity_TheStateHasAll(t *testing.T) {
	for _, env := range []envs.Env{newMaze(t), newReacher(t)} {
		o := probeTask()
		s := newSimulator(env, o)
		for _, c := range []struct {
			f         model.Forecaster
			low, high float64
		}{{s, 1 - 1e-6, 1 + 1e-9}, {lagging{s}, -1, 0.98}} {
			r, err := eval.Velocity(c.f, env, o)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range r.Probes {
				if p.Key == "z" && (p.Mean.Value < c.low || p.Mean.Value > c.high || len(p.R2) != len(r.Rates)) {
					t.Errorf("%s: R² %v, want %g to %g", env.Spec().Name, p.R2, c.low, c.high)
				}
				if p.Key == "x" && p.Mean.Value > 0.05 {
					t.Errorf("%s: a single observation gives R² %v", env.Spec().Name, p.R2)
				}
			}
		}
	}
}

// lagging is a simulator whose latent state is that of the step before.
type lagging struct{ *simulator }

func (l lagging) Clone() model.Forecaster { return l }

func (l lagging) Filter(dst *model.Filtering, prefix model.Batch, noise rng.Stream) {
	l.simulator.Filter(dst, prefix, noise)
	width := prefix.B * dst.NZ
	copy(dst.Mean[width:], slices.Clone(dst.Mean[:len(dst.Mean)-width]))
	width = prefix.B * dst.M
	copy(dst.Switches[width:], slices.Clone(dst.Switches[:len(dst.Switches)-width]))
}

// diverged is a simulator whose states and weights are not finite from some step on.
type diverged struct{ *simulator }

func (d diverged) Clone() model.Forecaster { return d }

func (d diverged) Filter(dst *model.Filtering, prefix model.Batch, noise rng.Stream) {
	d.simulator.Filter(dst, prefix, noise)
	for _, list := range [][]float32{dst.Mean, dst.Switches} {
		for i := len(list) / 2; i < len(list); i++ {
			list[i] = float32(math.NaN())
		}
	}
}

// TestProbes_OfAStateThatDiverges: what is not finite is no number, and no error that hides the other numbers.
func TestProbes_OfAStateThatDiverges(t *testing.T) {
	env, o := newMaze(t), probeTask()
	o.Episodes, o.Training = 10, 10
	f := diverged{newSimulator(env, o)}
	r, err := eval.Velocity(f, env, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r.Probes {
		if math.IsNaN(p.Mean.Value) != (p.Key == "z") {
			t.Errorf("%s: R² %v", p.Name, p.Mean)
		}
	}
	u, err := eval.Switches(f, env, o)
	if err != nil || !math.IsNaN(u.Perplexity.Value) || !math.IsNaN(u.Walls.LargestVertical.Value) {
		t.Errorf("perplexity %v, walls %v, %v", u.Perplexity, u.Walls, err)
	}
	for i, of := range u.Information {
		if !math.IsNaN(of.Value) {
			t.Errorf("information on contact %d: %v", i, of)
		}
	}
	c, err := eval.Contact(f, env, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range c.Probes {
		if !math.IsNaN(p.Mean.Value) {
			t.Errorf("%s: F1 %v", p.Name, p.F1)
		}
	}
	arm := newReacher(t)
	l, err := eval.Latent(diverged{newSimulator(arm, o)}, arm, o)
	if err != nil || !math.IsNaN(l.Curves[0].Ratios[1].Value) {
		t.Errorf("ratios %v, %v", l.Curves[0].Ratios, err)
	}
	for _, p := range l.Planes {
		if !math.IsNaN(p.Correlations[0]) || !math.IsNaN(p.Correlations[1]) {
			t.Errorf("correlations with %s: %v", p.Rate.Name, p.Correlations)
		}
	}
}

// TestContact_LabelsAsWeightsAreRead: weights that are the labels give F1 1 and all information; those of the step
// before do not.
func TestContact_LabelsAsWeightsAreRead(t *testing.T) {
	for _, env := range []envs.Env{newMaze(t), newReacher(t)} {
		o := probeTask()
		s := newSimulator(env, o)
		for _, c := range []struct {
			f         model.Forecaster
			low, high float64
		}{{s, 0.97, 1}, {lagging{s}, 0, 0.9}} {
			r, err := eval.Contact(c.f, env, o)
			if err != nil {
				t.Fatal(err)
			}
			if r.Fitted != 80 || r.Scored != 20 || len(r.Probes) != 8 {
				t.Errorf("%d fitted, %d scored, %d probes", r.Fitted, r.Scored, len(r.Probes))
			}
			for _, p := range r.Probes {
				if p.Mean.Value < c.low || p.Mean.Value > c.high {
					t.Errorf("%s, %s: F1 %v, want %g to %g", env.Spec().Name, p.Name, p.F1, c.low, c.high)
				}
			}
			for i, share := range r.Share {
				if want := 2 * share / (1 + share); r.Chance[i] != want {
					t.Errorf("chance %v, want %v", r.Chance[i], want)
				}
			}
			u, err := eval.Switches(c.f, env, o)
			if err != nil {
				t.Fatal(err)
			}
			if got := u.Information[0].Value; got > 1 || (got > 0.95) != (c.low > 0) {
				t.Errorf("%s: information %v", env.Spec().Name, u.Information)
			}
		}
	}
}

// TestSwitches_KnownUse: perplexity, walls and maps of weights that are made for it.
func TestSwitches_KnownUse(t *testing.T) {
	env, o := newMaze(t), probeTask()
	r, err := eval.Switches(halves{newSimulator(env, o)}, env, o)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(r.Perplexity.Value-2) > 0.02 {
		t.Errorf("perplexity %v, want 2: two systems share the work", r.Perplexity)
	}
	// System 1 acts where the first body is in the right half.
	m := r.Maps[0]
	for bin, n := range m.Count {
		if x := bin % eval.MapBins; n > 0 && m.Mean[bin*r.M] != float64(x*2/eval.MapBins) {
			t.Errorf("bin %d: weight %v", bin, m.Mean[bin*r.M])
		}
	}
	if r.Walls == nil || r.Walls.LargestVertical.Value > 0.4 || len(r.Maps) != 3 {
		t.Errorf("walls %+v, %d maps", r.Walls, len(r.Maps))
	}
	near, err := eval.Switches(nearWall{halves{newSimulator(env, o)}}, env, o)
	if err != nil {
		t.Fatal(err)
	}
	if got := near.Walls.Vertical[0][0].Value; math.Abs(got-1) > 1e-9 {
		t.Errorf("correlation ratio %v of the fact itself, want 1", got)
	}
	if near.Walls.Horizontal[1][0].Value > 0.2 {
		t.Errorf("correlation ratio %v with another body's walls", near.Walls.Horizontal[1][0])
	}
}

// halves acts by two systems, one for each half of the square that the first body is in.
type halves struct{ *simulator }

func (h halves) Dims() model.Dims {
	d := h.simulator.Dims()
	d.M = 2
	return d
}
func (h halves) Clone() model.Forecaster { return h }

func (h halves) Filter(dst *model.Filtering, prefix model.Batch, _ rng.Stream) {
	h.by(dst, prefix, func(x []float32) bool { return x[0] >= 0 })
}

func (h halves) by(dst *model.Filtering, prefix model.Batch, first func(x []float32) bool) {
	dst.Resize(prefix.T, prefix.B, h.Dims().NZ, 2)
	clear(dst.Mean)
	for i := range prefix.T * prefix.B {
		dst.Switches[2*i], dst.Switches[2*i+1] = 0, 1
		if first(prefix.Observations[i*prefix.NX:]) {
			dst.Switches[2*i], dst.Switches[2*i+1] = 1, 0
		}
	}
}

// TestSwitches_BodiesShareSystems: systems in use are counted over all bodies, and what a system says of a contact is
// not thinned out by the bodies that are elsewhere.
func TestSwitches_BodiesShareSystems(t *testing.T) {
	env, o := newMaze(t), probeTask()
	for _, c := range []struct {
		name                    string
		of                      func(contact float32) int
		perplexity, information float64
	}{
		{"always the second system", func(float32) int { return 1 }, 1, 0},
		{"a system at contacts", func(contact float32) int { return int(contact) }, math.NaN(), 1},
	} {
		r, err := eval.Switches(agents{newSimulator(env, o), c.of}, env, o)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Share) != 4 || r.Report().Numbers()["systems"] != 4 || len(r.CurveTable().Rows) != 12 {
			t.Errorf("%s: %d shares, %v systems, want 4 of them; %d weights, want 12", c.name, len(r.Share),
				r.Report().Numbers()["systems"], len(r.CurveTable().Rows))
		}
		if got := r.Perplexity.Value; math.Abs(got-c.perplexity) > 1e-9 || got > 2 {
			t.Errorf("%s: perplexity %v", c.name, got)
		}
		for i := range 3 {
			if got := r.InformationOfSystem[i].Value; math.Abs(got-c.information) > 1e-9 {
				t.Errorf("%s: information %v about %s, want %v", c.name, got, r.Contacts[i], c.information)
			}
		}
	}
	l, err := eval.Latent(agents{newSimulator(env, o), func(float32) int { return 0 }}, env, o)
	if err != nil || l.Report().Numbers()["systems"] != 4 {
		t.Errorf("latent: %v systems, want 4 (%v)", l.Report().Numbers()["systems"], err)
	}
}

// agents have four systems and a switch for each of three bodies, which follows the body's own contact with a wall.
type agents struct {
	*simulator
	of func(contact float32) int
}

func (a agents) Dims() model.Dims {
	d := a.simulator.Dims()
	d.M, d.Bodies = 12, 3
	return d
}
func (a agents) Clone() model.Forecaster { return a }

func (a agents) Filter(dst *model.Filtering, prefix model.Batch, noise rng.Stream) {
	var labels model.Filtering
	a.simulator.Filter(&labels, prefix, noise)
	dst.Resize(prefix.T, prefix.B, a.Dims().NZ, 12)
	clear(dst.Mean)
	clear(dst.Switches)
	for i := range prefix.T * prefix.B {
		for body := range 3 {
			dst.Switches[12*i+4*body+a.of(labels.Switches[i*labels.M+1+body])] = 1
		}
	}
}

// nearWall acts by the first system where the first body is near a vertical wall, as the protocol defines it.
type nearWall struct{ halves }

func (n nearWall) Clone() model.Forecaster { return n }

func (n nearWall) Filter(dst *model.Filtering, prefix model.Batch, _ rng.Stream) {
	env := n.env.(interface {
		NearWalls(x, y, reach float64) (bool, bool)
	})
	reach := 0.06 + n.meanStep()
	n.by(dst, prefix, func(x []float32) bool {
		vertical, _ := env.NearWalls(float64(x[0]), float64(x[1]), reach)
		return vertical
	})
}

// meanStep is that of the test episodes of probeTask, in their order.
func (n nearWall) meanStep() float64 {
	o, sum := probeTask(), 0.0
	var e envs.Episode
	for i := range uint32(o.Episodes) {
		n.env.Simulate(&e, rng.New(o.Seed, rng.Episode), firstFresh+i, o.Length)
		for t := 1; t < o.Length; t++ {
			for b := range 3 {
				at := t*6 + 2*b
				sum += math.Hypot(float64(e.Observations[at]-e.Observations[at-6]), float64(e.Observations[at+1]-e.Observations[at-5]))
			}
		}
	}
	return sum / float64(o.Episodes*(o.Length-1)*3)
}

// TestLatent_FindsTheRate: among the coordinates of the true state the rate itself correlates most.
func TestLatent_FindsTheRate(t *testing.T) {
	env, o := newReacher(t), probeTask()
	r, err := eval.Latent(newSimulator(env, o), env, o)
	if err != nil {
		t.Fatal(err)
	}
	for i, column := range []int{6, 8} {
		if p := r.Planes[i]; p.Dimensions[0] != column || math.Abs(p.Correlations[0]-1) > 1e-6 || math.Abs(p.Correlations[1]) > 0.9 {
			t.Errorf("%s: dimensions %v, correlations %v", p.Rate.Name, p.Dimensions, p.Correlations)
		}
	}
	// The second weight is the label of the elbow's limit: 1 at the ends of its range and 0 between.
	c := r.Curves[0]
	for bin, n := range c.Count {
		end := bin == 0 || bin == len(c.Count)-1
		if w := c.Mean[bin][1]; n > 0 && (!end && w != 0 || end && w < 0.2) {
			t.Errorf("%v: weight %v", c.At[bin], w)
		}
	}
	if c.Ratios[1].Value < 0.6 || r.Curves[1].Ratios[1].Value > 0.5 {
		t.Errorf("correlation ratios %v with the elbow, %v with θ", c.Ratios[1], r.Curves[1].Ratios[1])
	}
}

// TestProbes_OfAFamilyWithoutAFilter are what can be said without one, and a sentence.
func TestProbes_OfAFamilyWithoutAFilter(t *testing.T) {
	env, o := newReacher(t), probeTask()
	f := forgetful{newSimulator(env, o)}
	v, err := eval.Velocity(f, env, o)
	if err != nil || len(v.Probes) != 3 || len(v.Notes) != 1 {
		t.Errorf("velocity: %v, %d probes, notes %q", err, len(v.Probes), v.Notes)
	}
	c, err := eval.Contact(f, env, o)
	if err != nil || len(c.Probes) != 0 || len(c.Notes) != 1 || c.Chance[0] < 0.1 {
		t.Errorf("contact: %v, %+v", err, c)
	}
	s, err := eval.Switches(f, env, o)
	if err != nil || s.M != 0 || len(s.Notes) != 1 {
		t.Errorf("switches: %v, %+v", err, s)
	}
	l, err := eval.Latent(f, env, o)
	if err != nil || len(l.Planes) != 0 || len(l.Notes) != 1 {
		t.Errorf("latent: %v, %+v", err, l)
	}
	if _, err := eval.Table1(f, env, o); err != nil {
		t.Error(err)
	}
}

// TestDT_TheSimulatorMakesNoError, and what persists makes that of Static.
func TestDT_TheSimulatorMakesNoError(t *testing.T) {
	env, o := newMaze(t), probeTask()
	s := newSimulator(env, o)
	r, err := eval.DT(s, env, o)
	if err != nil || r.Model.Value > 1e-6 || r.DT != 0.05 || len(r.Steps) != eval.DTHorizon {
		t.Errorf("got %v, %+v", err, r)
	}
	s.reply = func(_ *envs.Episode, _ int, seen []float32) []float32 { return seen }
	if r, err = eval.DT(s, env, o); err != nil || math.Abs(r.Ratio.Value-1) > 1e-6 {
		t.Errorf("ratio %v, %v, want 1", r.Ratio, err)
	}
}

// TestTrajectories_AreThoseOfTheTest: the first ones, as they are, with what the model says of them.
func TestTrajectories_AreThoseOfTheTest(t *testing.T) {
	env, o := newMaze(t), probeTask()
	r, err := eval.Trajectories(newSimulator(env, o), env, o)
	if err != nil || len(r.Shown) != 4 || r.Horizon != 16 {
		t.Fatalf("%v, %d episodes, %d steps", err, len(r.Shown), r.Horizon)
	}
	for _, s := range r.Shown {
		for k, x := range s.Mean {
			for i, v := range x {
				if truth := s.Truth[o.Prefix+k][i]; math.Abs(v-truth) > 1e-6 || s.Quantile(0.95, k, i) != truth {
					t.Fatalf("episode %d, step %d: %v, want %v", s.Episode, k, v, truth)
				}
			}
		}
	}
}
