package kernel

import (
	"bytes"
	"math"
	"slices"
	"testing"
)

func TestGreatest(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		r := source()
		for _, n := range lengths() {
			x := guarded(normal(r, n)).values // NaN canaries must not count
			if got, want := Greatest(x), fromBits(greatestPortable(x)); bitsOf(got) != bitsOf(want) {
				t.Fatalf("%d values: %g, want %g", n, got, want)
			}
			for i := 0; i < n; i += 1 + n/50 {
				before := x[i]
				for _, most := range []float32{-math.MaxFloat32, float32(math.Inf(-1)), float32(math.NaN())} {
					x[i] = most
					if got := Greatest(x); bitsOf(got) != bitsOf(most)&^signBit {
						t.Fatalf("%g at %d of %d: %g", most, i, n, got)
					}
				}
				x[i] = before
			}
		}
	})
}

func TestInt16_EveryLength(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		for _, n := range lengths() {
			x := whole(words(n), n)
			got, want := make([]byte, 2*n+2), make([]byte, 2*n+2)
			got[2*n], want[2*n] = 0xa5, 0xa5
			PutInt16(got[:2*n], x)
			putInt16Portable(want[:2*n], x)
			if !bytes.Equal(got, want) {
				t.Fatalf("%d values: %x, want %x", n, got, want)
			}
			back := guarded(make([]float32, n))
			GetInt16(back.values, got[:2*n])
			back.compare(t, "GetInt16", x)
		}
	})
}

func TestRound_EveryLength(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		p := NewPhilox(5, 6)
		r := source()
		for _, n := range lengths() {
			x := guarded(mixed(r, n))
			want := make([]float32, (n+roundGroup-1)/roundGroup*roundGroup)
			copy(want, x.values)
			roundGroupsPortable(want, &p, 1<<32-8, 16, 127) // the counter carries over
			p.Round(x.values, 16, 127, 1<<32-8)
			x.compare(t, "Round", want[:n])
			for _, v := range x.values {
				if v != float32(int32(v)) || v < -127 || v > 127 || v == 0 && bitsOf(v) != 0 {
					t.Fatalf("%g is no whole number within the limit", v)
				}
			}
		}
	})
}

// The expectation of a rounded value is the value: a fraction is rounded up as often as it says, and whole numbers stay.
func TestRound_IsUnbiased(t *testing.T) {
	const n = 1 << 20
	p := NewPhilox(7, 8)
	x := make([]float32, n)
	for _, y := range []float32{0.25, -0.25, 3.5, -3.5, 0.001, -100.999, 1e-9, 5, -5, 0} {
		for i := range x {
			x[i] = y / 4
		}
		p.Round(x, 4, 127, 0)
		low, high := float32(math.Floor(float64(y))), float32(math.Ceil(float64(y)))
		ups := 0
		for _, v := range x {
			if v != low && v != high {
				t.Fatalf("%g became %g", y, v)
			}
			if v != low {
				ups++
			}
		}
		f := float64(y) - float64(low)
		if got, sd := float64(ups)/n, math.Sqrt(f*(1-f)/n); math.Abs(got-f) > 4*sd+1.0/(1<<17) {
			t.Errorf("%g was rounded up in %g of the cases, want %g ± %g", y, got, f, sd)
		}
	}
}

// Values that are rounded in one call and in several have the same bits, if the calls begin at whole groups.
func TestRound_InParts(t *testing.T) {
	p := NewPhilox(1, 2)
	x := usual(1, chunk)
	y := slices.Clone(x)
	p.Round(x, 256, 127, 40)
	p.Round(y[:640], 256, 127, 40)
	p.Round(y[640:], 256, 127, 40+640/roundGroup*groupBlocks)
	compare(t, "Round in two parts", y, x)
}
