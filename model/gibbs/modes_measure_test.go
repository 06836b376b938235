//go:build measure

package gibbs

import (
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/envs/fhn"
	"github.com/switchyard-ml/switchyard/internal/matrix"
	"github.com/switchyard-ml/switchyard/rng"
)

// starts are ways to begin five chains:
//
//	own       each from its own greedy fit, as a run does
//	best      each from the densest of eight greedy fits
//	alike     all from the fit of the first chain
//	tempered  own; in the first sweeps regimes are drawn from their weights to a power that rises to 1
var starts = map[string]func(m *modes, chain uint32) (*Chain, error){
	"own":      func(m *modes, chain uint32) (*Chain, error) { return New(m.cfg, m.data, m.key, chain) },
	"best":     (*modes).best,
	"alike":    (*modes).alike,
	"tempered": (*modes).tempered,
}

// modes compares chains by how they divide the state space.
type modes struct {
	cfg  Config
	data Data
	key  rng.Key

	fits    []*Fit
	regimes [][]float64 // [chains][N,K]
}

// TestMeasure_Modes says in which modes five chains on the FitzHugh–Nagumo oscillator sit after each of the starts:
//
//	START=own go test -tags measure -run TestMeasure_Modes -timeout 2h -v ./model/gibbs
//
// FAMILY (trslds), SWEEPS (1000) and SEED (1) of the sampler change what is sampled.
func TestMeasure_Modes(t *testing.T) {
	family, start := os.Getenv("FAMILY"), os.Getenv("START")
	schedule, seed := Schedule{Sweeps: 1000, Draws: 32, Stacked: true, Regimes: true}, uint64(1)
	_, _ = fmt.Sscan(os.Getenv("SWEEPS"), &schedule.Sweeps)
	_, _ = fmt.Sscan(os.Getenv("SEED"), &seed)
	schedule.BurnIn = schedule.Sweeps / 2
	m := &modes{cfg: DefaultConfig(family != "rslds"), data: withoutStimulus(t), key: rng.New(seed, rng.Noise)}
	begin, ok := starts[start]
	if !ok {
		t.Fatalf("START=%q, want own, best, alike or tempered", start)
	}
	fmt.Printf("start %s, family %q, seed %d, %d sweeps, half of them kept\n", start, family, seed, schedule.Sweeps)
	for i := range uint32(5) {
		c, err := begin(m, i)
		if err != nil {
			t.Fatal(err)
		}
		c.sweep = 0
		f := emptyFit(schedule, c)
		for !f.Done() {
			if err := f.Step(); err != nil {
				t.Fatal(err)
			}
		}
		m.fits, m.regimes = append(m.fits, f), append(m.regimes, f.posterior.Regimes())
		m.describe(len(m.fits) - 1)
	}
	m.compare()
}

func withoutStimulus(t *testing.T) Data {
	t.Helper()
	env, err := fhn.New(fhn.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	data := Data{Observed: 2}
	for i := range uint32(100) {
		var e envs.Episode
		env.Simulate(&e, rng.New(1, rng.Episode), i, 400)
		r := Recording{Y: make([]float64, len(e.Observations))}
		for j, y := range e.Observations {
			r.Y[j] = float64(y)
		}
		data.Recordings = append(data.Recordings, r)
	}
	return data
}

func (m *modes) best(chain uint32) (*Chain, error) {
	var best *Chain
	for i := range uint32(8) {
		c, err := New(m.cfg, m.data, m.key, 8*chain+i)
		if err != nil {
			return nil, err
		}
		for range 3 {
			if err := c.Sweep(); err != nil {
				return nil, err
			}
		}
		if best == nil || c.density() > best.density() {
			best = c
		}
	}
	best.index = chain
	return best, nil
}

func (m *modes) alike(chain uint32) (*Chain, error) {
	c, err := New(m.cfg, m.data, m.key, 0)
	if err == nil {
		c.index = chain
	}
	return c, err
}

func (m *modes) tempered(chain uint32) (*Chain, error) {
	const sweeps = 100
	c, err := New(m.cfg, m.data, m.key, chain)
	for i := range sweeps {
		if err == nil {
			err = c.temperedSweep(math.Pow(0.01, 1-float64(i)/sweeps))
		}
	}
	return c, err
}

// temperedSweep is Sweep with regimes drawn from their weights to a power.
func (c *Chain) temperedSweep(power float64) error {
	c.sweep++
	for k := range c.regimes {
		if !c.regimes[k].set(c.theta.leaf(k, c.dims), c.theta.noise(k, c.dims), c.square, c.dims) {
			return ErrNumeric
		}
		c.leaves[k].reset()
	}
	for _, p := range c.planes {
		p.reset()
	}
	for i, span := range c.spans {
		s := c.source(drawRegimes, i)
		for t := span.from; t < span.to-1; t++ {
			c.setFeatures(t)
			c.drawRegime(t, &s)
			for k, w := range c.logWeight {
				c.logWeight[k] = math.Pow(w, power)
			}
			c.z[t] = s.categorical(c.logWeight)
			c.augment(t, &s)
			c.collect(t)
		}
	}
	for _, draw := range []func() error{c.drawPlanes, c.drawLeaves, c.drawInner, c.drawStates, c.drawEmission} {
		if err := draw(); err != nil {
			return err
		}
	}
	return nil
}

// density is the log density of a step.
func (c *Chain) density() float64 { return c.transition + float64(c.Dy)*c.emission }

// describe prints what one chain found.
func (m *modes) describe(i int) {
	f := m.fits[i]
	mean, sd := moment(m.densities(f))
	share := make([]float64, f.chain.K)
	for t := 0; t < len(m.regimes[i]); t += f.chain.K {
		matrix.AddScaled(share, 1/float64(len(f.chain.z)), m.regimes[i][t:t+f.chain.K])
	}
	slices.Sort(share)
	squares := make([]float64, len(backtestHorizons()))
	for j, e := range f.errors {
		squares[j/f.chain.Dy%len(squares)] += e * e / float64(len(f.errors)/len(squares))
	}
	fmt.Printf("chain %d: log density of a step %.4f, standard deviation over sweeps %.4f; shares of regimes %.2f; ", i, mean, sd, share)
	fmt.Printf("mean squared error %.2g at 1, %.2g at 16, %.2g at 32 steps\n", squares[0], squares[4], squares[5])
}

func (m *modes) densities(f *Fit) []float64 {
	transition, emission := f.Trace(0), f.Trace(1)
	for i := range transition {
		transition[i] += float64(f.chain.Dy) * emission[i]
	}
	return transition
}

// compare prints how far chains agree: in the regimes of steps, in what does not depend on names, and in parameters; all of
// them, and those that divide the steps alike.
func (m *modes) compare() {
	K := m.fits[0].chain.K
	groups := [][]int{}
	for i := range m.fits {
		group := -1
		for j := range i {
			same, index := agreement(m.regimes[i], renumbered(m.regimes[j], m.regimes[i], K), K)
			fmt.Printf("chains %d and %d: %.2f of the steps have the same regime after matching, ", j, i, same)
			fmt.Printf("adjusted Rand index %.2f\n", index)
			for g, members := range groups {
				if members[0] == j && index > 0.9 && group < 0 {
					group = g
				}
			}
		}
		if group < 0 {
			groups = append(groups, []int{i})
		} else {
			groups[group] = append(groups[group], i)
		}
	}
	m.converge(m.fits)
	for _, members := range groups {
		var fits []*Fit
		for _, i := range members {
			fits = append(fits, m.fits[i])
		}
		fmt.Printf("chains with an adjusted Rand index above 0.9: %d\n", members)
		if len(fits) > 1 {
			m.converge(fits)
		}
	}
}

// converge prints R̂ of some chains.
func (m *modes) converge(fits []*Fit) {
	report := func(name string, traces [][]float64) {
		c := Converge(traces)
		fmt.Printf("R̂ %.2f (%.0f) of %s\n", c.RHat, c.Bulk, name)
	}
	var density, switching [][]float64
	for _, f := range fits {
		density, switching = append(density, m.densities(f)), append(switching, f.Trace(2))
	}
	report("log density of a step", density)
	report("share of steps at which the regime changes", switching)
	for k, h := range backtestHorizons() {
		report(fmt.Sprintf("mean squared error %d steps ahead", h), ofDraws(fits, func(f *Fit, i int) float64 {
			return f.squares[i*len(backtestHorizons())+k]
		}))
	}
	for _, matched := range []bool{false, true} {
		fmt.Printf("R̂ %.2f at most of an entry of A and b, regimes matched: %v\n", worst(fits, matched), matched)
	}
}

func ofDraws(fits []*Fit, value func(f *Fit, i int) float64) (traces [][]float64) {
	for _, f := range fits {
		var values []float64
		for i := range f.posterior.draws {
			values = append(values, value(f, i))
		}
		traces = append(traces, values)
	}
	return traces
}

// worst is the largest R̂ of an entry of the dynamics, with regimes as chains number them or as the first chain does.
func worst(fits []*Fit, matched bool) float64 {
	d, like := fits[0].chain.dims, fits[0].posterior.Regimes()
	from := make(map[*Fit][]int)
	for _, f := range fits {
		for k := range d.K {
			from[f] = append(from[f], k)
		}
		if matched {
			from[f] = matching(f.posterior.Regimes(), like, d.K)
		}
	}
	largest := 0.0
	for k := range d.K {
		for j := range d.D * d.P {
			largest = max(largest, Converge(ofDraws(fits, func(f *Fit, i int) float64 {
				return f.posterior.draws[i].leaf(from[f][k], d)[j]
			})).RHat)
		}
	}
	return largest
}

func moment(values []float64) (mean, sd float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		sd += (v - mean) * (v - mean) / float64(len(values)-1)
	}
	return mean, math.Sqrt(sd)
}

// agreement is the share of steps whose most likely regime is the same, and the adjusted Rand index of the most likely
// regimes (Hubert and Arabie 1985): 1 for the same partition, 0 for unrelated ones.
func agreement(a, b []float64, K int) (same, index float64) {
	joint := make([]float64, K*K)
	for t := 0; t < len(a); t += K {
		joint[likeliest(a[t:t+K])*K+likeliest(b[t:t+K])]++
	}
	n, rows, columns := float64(len(a)/K), make([]float64, K), make([]float64, K)
	pairs := func(v float64) float64 { return v * (v - 1) / 2 }
	together := 0.0
	for i, v := range joint {
		rows[i/K] += v
		columns[i%K] += v
		together += pairs(v)
		if i/K == i%K {
			same += v / n
		}
	}
	byRow, byColumn := 0.0, 0.0
	for k := range K {
		byRow += pairs(rows[k])
		byColumn += pairs(columns[k])
	}
	expected := byRow * byColumn / pairs(n)
	return same, (together - expected) / ((byRow+byColumn)/2 - expected)
}

func likeliest(p []float64) int {
	best := 0
	for k, v := range p {
		if v > p[best] {
			best = k
		}
	}
	return best
}
