package vector

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// sizes are those of tensors of which some are shorter than a block and some are not multiples of one.
func sizes() []int { return []int{7, 600, 256, 1, 130} }

// walk moves exact by what updates of very different sizes would.
func walk(r *rand.Rand, exact []float32) {
	for i := range exact {
		exact[i] += float32(r.NormFloat64() * math.Ldexp(1e-2, -(i/100)))
	}
}

// The shown parameters stay within half a unit of the exact ones, over many steps: what is rounded off does not add up.
func TestDifference_ErrorsDoNotAddUp(t *testing.T) {
	for _, width := range []Width{Int8, Int16} {
		g := newGridOf(t, width, 1, sizes()...)
		d, r := NewDifference(g), rand.New(rand.NewPCG(1, uint64(width)))
		exact, shown := make([]float32, g.Parameters()), make([]float32, g.Parameters())
		walk(r, exact)
		copy(shown, exact)
		for step := range 200 {
			walk(r, exact)
			before := slices.Clone(shown)
			if !d.Follow(shown, exact, 0, g.Blocks()) {
				t.Fatal("not finite")
			}
			for b := range g.Blocks() {
				from, to := g.block(b)
				unit, most := math.Ldexp(1, int(d.exponents[b])), 0.0
				for i := from; i < to; i++ {
					q := d.integers[i]
					if q != float32(int32(q)) || q > g.limit || q < -g.limit {
						t.Fatalf("%d bytes, step %d: %g is no integer within %g", width, step, q, g.limit)
					}
					if want := float32(float64(before[i]) + float64(q)*unit); shown[i] != want {
						t.Fatalf("%d bytes, step %d: parameter %d is %g, want %g", width, step, i, shown[i], want)
					}
					change := float64(exact[i] - before[i])
					if off, ulp := math.Abs(float64(q)*unit-change), 1e-7*math.Abs(float64(exact[i])); off > unit/2+ulp {
						t.Fatalf("%d bytes, step %d: %g units of %g for %g", width, step, q, unit, change)
					}
					most = max(most, math.Abs(change))
				}
				if least := math.Ldexp(float64(g.limit), int(d.exponents[b])-1); most > 2*least || most <= least {
					t.Fatalf("%d bytes, step %d: a change of %g in units of %g", width, step, most, unit)
				}
			}
		}
	}
}

// Half of an integer goes to the even one, and nothing beyond the limit.
func TestNearest(t *testing.T) {
	x := []float32{0.5, 1.5, 2.5, -0.5, -1.5, 0.49999997, 32766.5, 32767.5, -4e9, float32(math.Inf(1)), float32(math.Copysign(0, -1))}
	for i := range x {
		x[i] *= 4
	}
	nearest(x, 0.25, 32767)
	if want := []float32{0, 2, 2, 0, -2, 0, 32766, 32767, -32767, 32767, 0}; !slices.Equal(x, want) {
		t.Errorf("got %v, want %v", x, want)
	}
}

// What is added from the integers of any cut of a vector is what Follow made, and what stands behind the parameters comes
// as it is.
func TestGrid_AddsWhatWasFollowed(t *testing.T) {
	for _, width := range []Width{Int8, Int16} {
		g := newGridOf(t, width, 1, sizes()...)
		n, r := g.Parameters(), rand.New(rand.NewPCG(3, uint64(width)))
		for _, tail := range []int{0, 5} {
			d, exact, shown := NewDifference(g), make([]float32, n), make([]float32, n+tail)
			for step, cut := range []int{1, 3, 64, 255, 256, 257, 700, n - 1, n, n + tail} {
				walk(r, exact)
				copyOf := slices.Clone(shown)
				d.Follow(shown[:n], exact, 0, g.Blocks())
				for i := range tail {
					shown[n+i] = float32(step - 7*i)
				}
				for from := 0; from < n+tail; from += cut {
					to := min(from+cut, n+tail)
					integers := make([]float32, g.Integers(from, to))
					d.Integers(integers, shown, from, to)
					for _, v := range integers {
						if v != float32(int8(v)) && width == Int8 || v != float32(int16(v)) {
							t.Fatalf("cut %d: %g does not fit %d bytes", cut, v, width)
						}
					}
					g.Add(copyOf[from:to], integers, from)
				}
				if !slices.Equal(copyOf, shown) {
					t.Fatalf("%d bytes, %d behind, cut %d: other values", width, tail, cut)
				}
			}
		}
	}
}

// Parameters that leave float32 are told, and a difference that does is cut to what fits.
func TestDifference_NotFinite(t *testing.T) {
	g := newGridOf(t, Int8, 1, 300)
	d, shown, exact := NewDifference(g), make([]float32, 300), make([]float32, 300)
	shown[290], exact[290] = -3e38, 3e38
	if d.Follow(shown, exact, 0, 1) != true {
		t.Error("a block without that parameter is not finite")
	}
	for range 20 {
		d.Follow(shown, exact, 1, 2)
	}
	if x := float64(shown[290]); !(math.Abs(x-3e38) < 1e37) && !math.IsInf(x, 0) {
		t.Errorf("it came to %g", x)
	}
	shown[5], exact[5] = math.MaxFloat32, math.MaxFloat32
	shown[6], exact[6] = 0, math.MaxFloat32 // is rounded up, beyond float32
	if d.Follow(shown, exact, 0, 1) {
		t.Errorf("%g is finite", shown[6])
	}
}
