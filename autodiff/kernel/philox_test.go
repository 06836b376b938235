package kernel

import (
	"math"
	"testing"
)

// TestPhilox_KnownAnswers has the vectors of the Random123 distribution (file
// kat_vectors, philox4x32 10).
func TestPhilox_KnownAnswers(t *testing.T) {
	for _, k := range []struct {
		key, stream, block uint64
		want               [4]uint32
	}{
		{0, 0, 0, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{
			math.MaxUint64, math.MaxUint64, math.MaxUint64,
			[4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
		},
		{
			0x299f31d0_a4093822, 0x03707344_13198a2e, 0x85a308d3_243f6a88,
			[4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1},
		},
	} {
		p := NewPhilox(k.key, k.stream)
		if got := p.Block(k.block); got != k.want {
			t.Errorf("key %x: %x, want %x", k.key, got, k.want)
		}
	}
}

// draws are the distributions with their first moments.
var draws = []struct {
	name           string
	fill           func(p *Philox, dst []float32, block uint64)
	mean, variance float64
}{
	{"uniforms", (*Philox).Uniforms, 0.5, 1.0 / 12},
	{"normals", (*Philox).Normals, 0, 1},
	{"gumbels", (*Philox).Gumbels, 0.5772156649, math.Pi * math.Pi / 6},
	{"logistics", (*Philox).Logistics, 0, math.Pi * math.Pi / 3},
}

func TestDraws_EveryLength(t *testing.T) {
	const block = 1<<32 - 16 // the low word of the counter overflows on the way
	eachISA(t, func(t *testing.T) {
		p := NewPhilox(0x123456789abcdef, 42<<32|7)
		for d, f := range draws {
			for _, n := range lengths() {
				want := make([]float32, ceilTo(n, groupWords))
				fillGroupsPortable(want, &p, block, draw(d))
				g := guarded(make([]float32, n))
				f.fill(&p, g.values, block)
				g.compare(t, f.name, want[:n])
			}
		}
	})
}

// TestDraws_Moments allows five standard errors.
func TestDraws_Moments(t *testing.T) {
	n := 1 << 20
	if Best() == Portable || underRace {
		n = 1 << 16
	}
	x := make([]float32, n)
	p := NewPhilox(7, 9)
	for _, f := range draws {
		f.fill(&p, x, 0)
		var m1, m2, m4 float64
		for _, v := range x {
			m1 += float64(v)
		}
		m1 /= float64(n)
		for _, v := range x {
			d := float64(v) - m1
			m2 += d * d
			m4 += d * d * d * d
		}
		m2 /= float64(n)
		m4 /= float64(n)
		if off := math.Abs(m1 - f.mean); off > 5*math.Sqrt(m2/float64(n)) {
			t.Errorf("%s: mean %g, want %g", f.name, m1, f.mean)
		}
		if off := math.Abs(m2 - f.variance); off > 5*math.Sqrt((m4-m2*m2)/float64(n)) {
			t.Errorf("%s: variance %g, want %g", f.name, m2, f.variance)
		}
	}
}

// TestDraws_Extremes has the words at which uniform numbers are next to 0 and 1.
func TestDraws_Extremes(t *testing.T) {
	for _, w := range []uint32{0, 1, 2, 1 << 31, math.MaxUint32 - 1, math.MaxUint32} {
		exact := (float64(w) + 0.5) / (1 << 32)
		u := float64(w>>1)/(1<<31) + 1.0/(1<<32) // the lowest bit is not used
		rest := float64(^w>>1)/(1<<31) + 1.0/(1<<32)
		if got := float64(uniform1(w)); got <= 0 || got > 1 || math.Abs(got-exact) > 1e-7*exact+1e-9 {
			t.Errorf("uniform of %#x: %g", w, got)
		}
		logU := math.Log(u)
		if u > 0.5 {
			logU = math.Log1p(-rest)
		}
		logRest := math.Log(rest)
		if rest > 0.5 {
			logRest = math.Log1p(-u)
		}
		if got, want := float64(gumbel1(w)), -math.Log(-logU); math.Abs(got-want) > 1e-5*(1+math.Abs(want)) {
			t.Errorf("Gumbel of %#x: %g, want %g", w, got, want)
		}
		if got, want := float64(logistic1(w)), logU-logRest; math.Abs(got-want) > 1e-5*(1+math.Abs(want)) {
			t.Errorf("logistic of %#x: %g, want %g", w, got, want)
		}
		if a, b := boxMuller(w, w); a != a || b != b || math.Abs(float64(a)) > 7 {
			t.Errorf("normals of %#x: %g, %g", w, a, b)
		}
	}
}

func TestNormalOf(t *testing.T) {
	p := NewPhilox(3, 4)
	var x [groupWords]float32
	p.Normals(x[:], 0)
	for i := range uint64(8) {
		w := p.Block(i)
		for j := range uint64(2) {
			if got, want := NormalOf(w[j], w[2+j]), x[2*i+j]; got != want {
				t.Errorf("block %d: %g, want %g", i, got, want)
			}
		}
	}
}
