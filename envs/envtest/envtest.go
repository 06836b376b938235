// Package envtest holds the rules that every environment keeps, as one test that its own tests call:
//
//	func TestConformance(t *testing.T) { envtest.Test(t, env) }
//
// It knows only the interface; calibration against published figures is each environment's own.
package envtest

import (
	"math"
	"slices"
	"testing"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/rng"
)

const (
	length   = 50
	episodes = 8
)

// Test checks env against the contract of envs.Env, one subtest per rule.
func Test(t *testing.T, env envs.Env) {
	t.Helper()
	for _, rule := range []struct {
		name  string
		check func(*testing.T, envs.Env)
	}{
		{"Spec", checkSpec},
		{"Sizes", checkSizes},
		{"FirstControlIsZero", checkFirstControl},
		{"Finite", checkFinite},
		{"SameSeedSameEpisode", checkRepeatable},
		{"IndependentOfOrderAndMemory", checkIndependent},
		{"PrefixStable", checkPrefix},
		{"SeedsAndIndicesDiffer", checkDistinct},
		{"Concurrent", checkConcurrent},
		{"NoAllocation", checkAllocation},
	} {
		t.Run(rule.name, func(t *testing.T) { rule.check(t, env) })
	}
}

// key is the key of training episodes, as a run has it.
func key(seed uint64) rng.Key { return rng.New(seed, rng.Episode) }

// simulate returns an episode in fresh memory.
func simulate(env envs.Env, seed uint64, index uint32, T int) *envs.Episode {
	e := new(envs.Episode)
	env.Simulate(e, key(seed), index, T)
	return e
}

// checkSpec: a name, at least one observation, no negative dimension, no label without a name, and probes that
// exist.
func checkSpec(t *testing.T, env envs.Env) {
	s := env.Spec()
	if s.Name == "" {
		t.Error("the environment has no name")
	}
	if s.Observation < 1 || s.Control < 0 || s.State < 0 || s.DT < 0 {
		t.Errorf("impossible dimensions: %+v", s)
	}
	if slices.Contains(s.Labels, "") {
		t.Errorf("a label column has no name: %q", s.Labels)
	}
	if probed, ok := env.(envs.Probed); ok {
		checkProbes(t, probed.Probes(), s)
	}
}

// checkProbes: every column that the probes name lies within the array that it is one of.
func checkProbes(t *testing.T, p envs.Probes, s envs.Spec) {
	within := func(what string, size int, columns ...int) {
		for _, c := range columns {
			if c < 0 || c >= size {
				t.Errorf("%s: column %d of %d", what, c, size)
			}
		}
	}
	within("Turned", s.Observation, p.Turned...)
	within("Contacts", len(s.Labels), p.Contacts...)
	within("Encounters", len(s.Labels), p.Encounters...)
	for _, b := range p.Bodies {
		within("Bodies", s.Observation, b[:]...)
	}
	for _, c := range p.Rates {
		within("Rates", s.State, c.Index)
	}
	for _, c := range p.Limited {
		within("Limited", s.Observation, c.Index)
	}
}

// checkSizes: T·n values for every array, for an episode without steps too.
func checkSizes(t *testing.T, env envs.Env) {
	s := env.Spec()
	for _, T := range []int{0, 1, 2, length} {
		e := simulate(env, 1, 0, T)
		if e.T != T {
			t.Errorf("T = %d: the episode says %d", T, e.T)
		}
		for _, c := range columns(s, e) {
			if got, want := len(c.data), T*c.width; got != want {
				t.Errorf("T = %d: %s has %d values, want %d", T, c.name, got, want)
			}
		}
	}
}

// checkFirstControl: the control of the first step, which acts on nothing, is zero.
func checkFirstControl(t *testing.T, env envs.Env) {
	n := env.Spec().Control
	var e envs.Episode
	for index := range uint32(episodes) {
		poison(env, &e)
		env.Simulate(&e, key(1), index, length)
		for _, u := range e.Controls[:n] {
			if u != 0 {
				t.Fatalf("episode %d: Controls[0] = %v, want zeros", index, e.Controls[:n])
			}
		}
	}
}

// checkFinite: no NaN, no infinity, and no value that was not set.
func checkFinite(t *testing.T, env envs.Env) {
	var e envs.Episode
	for index := range uint32(episodes) {
		poison(env, &e) // a value that Simulate forgets stays NaN
		env.Simulate(&e, key(2), index, length)
		for _, c := range columns(env.Spec(), &e) {
			for i, v := range c.data {
				if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
					t.Fatalf("episode %d: %s[%d] = %v", index, c.name, i, v)
				}
			}
		}
	}
}

// checkRepeatable: the same key, index and length give the same bits.
func checkRepeatable(t *testing.T, env envs.Env) {
	for index := range uint32(episodes) {
		if !equal(simulate(env, 3, index, length), simulate(env, 3, index, length)) {
			t.Errorf("episode %d differs from itself", index)
		}
	}
}

// checkIndependent: neither the order of episodes nor what the memory held changes one.
func checkIndependent(t *testing.T, env envs.Env) {
	var e envs.Episode
	for i := range uint32(episodes) {
		index := episodes - 1 - i
		poison(env, &e)
		env.Simulate(&e, key(4), index, length)
		if !equal(&e, simulate(env, 4, index, length)) {
			t.Errorf("episode %d depends on what was simulated before it", index)
		}
	}
}

// checkPrefix: a shorter episode is the beginning of a longer one, bit by bit.
func checkPrefix(t *testing.T, env envs.Env) {
	long := simulate(env, 5, 3, 3*length)
	for _, T := range []int{1, 2, 7, 8, 9, 33, length, 2 * length} {
		short := simulate(env, 5, 3, T)
		l := columns(env.Spec(), long)
		for i, c := range columns(env.Spec(), short) {
			if !slices.Equal(c.data, l[i].data[:len(c.data)]) {
				t.Errorf("%s of the first %d steps depend on the episode's length", c.name, T)
			}
		}
	}
}

// checkDistinct: another index, and another seed, give other observations and controls.
func checkDistinct(t *testing.T, env envs.Env) {
	a := simulate(env, 6, 0, length)
	for _, b := range []struct {
		what  string
		seed  uint64
		index uint32
	}{{"indices", 6, 1}, {"seeds", 7, 0}} {
		e := simulate(env, b.seed, b.index, length)
		if slices.Equal(a.Observations, e.Observations) {
			t.Errorf("different %s give the same observations", b.what)
		}
		if len(a.Controls) > 0 && slices.Equal(a.Controls, e.Controls) {
			t.Errorf("different %s give the same controls", b.what)
		}
	}
}

// checkConcurrent: goroutines that simulate at once do not disturb each other. With -race, races show too.
func checkConcurrent(t *testing.T, env envs.Env) {
	got := make(chan *envs.Episode)
	for range 4 {
		go func() { got <- simulate(env, 8, 1, length) }()
	}
	want := simulate(env, 8, 1, length)
	for range 4 {
		if !equal(<-got, want) {
			t.Error("an episode simulated beside others differs")
		}
	}
}

// checkAllocation: Simulate takes no memory once the episode has room.
func checkAllocation(t *testing.T, env envs.Env) {
	if raceDetector {
		t.Skip("the race detector allocates on its own: run without -race")
	}
	var e envs.Episode
	k := key(9)
	index := uint32(0)
	if n := testing.AllocsPerRun(20, func() {
		env.Simulate(&e, k, index, length)
		index++
	}); n != 0 {
		t.Errorf("Simulate allocates %v times per episode, want 0 once warm", n)
	}
}

// A column is one array of an episode.
type column struct {
	name  string
	width int
	data  []float32
}

// columns are the arrays of an episode with the widths that the Spec gives them.
func columns(s envs.Spec, e *envs.Episode) []column {
	return []column{
		{"Observations", s.Observation, e.Observations},
		{"Controls", s.Control, e.Controls},
		{"States", s.State, e.States},
		{"Labels", len(s.Labels), e.Labels},
	}
}

// poison fills the episode with NaN, so that a value that a simulation does not set is found.
func poison(env envs.Env, e *envs.Episode) {
	e.Resize(env.Spec(), length)
	for _, c := range columns(env.Spec(), e) {
		for i := range c.data {
			c.data[i] = float32(math.NaN())
		}
	}
}

// equal reports whether two episodes have the same values.
func equal(a, b *envs.Episode) bool {
	return a.T == b.T && slices.Equal(a.Observations, b.Observations) && slices.Equal(a.Controls, b.Controls) &&
		slices.Equal(a.States, b.States) && slices.Equal(a.Labels, b.Labels)
}
