package kernel

import (
	"math"
	"math/big"
	"testing"
)

// Arguments of every size, and the float64 nearest to multiples of π/2, where a reduction shows.
func arguments() []float64 {
	var xs []float64
	for i := range 20001 {
		xs = append(xs, float64(i-10000)*0.00137)
	}
	for n := 1.0; n < 660000; n = math.Ceil(n * 1.03) {
		x := n * math.Pi / 2
		xs = append(xs, x, math.Nextafter(x, 0), math.Nextafter(x, 1e9), -x, x+math.Pi/4)
	}
	for x := 1e-300; x < reducible; x *= 1.7 {
		xs = append(xs, x, -x)
	}
	return append(xs, 0, reducible, -reducible)
}

// math.Sincos has an error of about 1e-16 in this range itself.
func TestSinCos_AgreesWithMath(t *testing.T) {
	for _, x := range arguments() {
		sin, cos := SinCos(x)
		if ds, dc := math.Abs(sin-math.Sin(x)), math.Abs(cos-math.Cos(x)); ds > 1e-14 || dc > 1e-14 {
			t.Errorf("SinCos(%v) = %v, %v: off by %.1e, %.1e", x, sin, cos, ds, dc)
		}
	}
}

// The documented bound, against a Taylor series of 300 bits.
func TestSinCos_AgreesWithBigFloat(t *testing.T) {
	worst := 0.0
	xs := arguments()
	for i := 0; i < len(xs); i += 17 {
		sin, cos := SinCos(xs[i])
		wantSin, wantCos := bigSinCos(xs[i])
		worst = max(worst, distance(sin, wantSin), distance(cos, wantCos))
	}
	if worst > 1.2e-16 {
		t.Errorf("largest error %.2e, want at most 1.2e-16", worst)
	}
	t.Logf("largest error %.2e", worst)
}

func TestSinCos_IsOddAndEven(t *testing.T) {
	for _, x := range arguments() {
		sin, cos := SinCos(x)
		minusSin, sameCos := SinCos(-x)
		if sin != -minusSin || cos != sameCos {
			t.Errorf("SinCos(±%v) = %v, %v and %v, %v", x, sin, cos, minusSin, sameCos)
		}
	}
}

func TestSinCos_BeyondTheExactReduction(t *testing.T) {
	for _, x := range []float64{2e6, -3.3e7, 1e10, 1e15} {
		sin, cos := SinCos(x)
		if d := math.Hypot(sin-math.Sin(x), cos-math.Cos(x)); d > 1e-15+2e-16*math.Abs(x) {
			t.Errorf("SinCos(%v) is off by %.1e", x, d)
		}
	}
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if sin, cos := SinCos(x); !math.IsNaN(sin) || !math.IsNaN(cos) {
			t.Errorf("SinCos(%v) = %v, %v, want NaN", x, sin, cos)
		}
	}
}

// The bits are part of the contract: a change of any of them changes every run that has angles.
func TestSinCos_Bits(t *testing.T) {
	for _, c := range []struct {
		x        float64
		sin, cos uint64
	}{
		{0.5, 0x3fdeaee8744b05f0, 0x3fec1528065b7d50},
		{2, 0x3fed18f6ead1b446, 0xbfdaa22657537205},
		{-40, 0xbfe7d7f78e027f00, 0xbfe5578e7d68218f},
		{123456.789, 0xbfeff50e60ab53f9, 0x3faa74d27c41b22a},
	} {
		sin, cos := SinCos(c.x)
		if s, k := math.Float64bits(sin), math.Float64bits(cos); s != c.sin || k != c.cos {
			t.Errorf("SinCos(%v) = %#x, %#x, want %#x, %#x", c.x, s, k, c.sin, c.cos)
		}
	}
}

const precision = 300

// bigSinCos sums the Taylor series of x reduced by multiples of 2π.
func bigSinCos(x float64) (sin, cos *big.Float) {
	turn, _, err := big.ParseFloat("6.28318530717958647692528676655900576839433879875021164194988918461563281257241799725606965068423413596429617302656461329418768921910", 10, precision, big.ToNearestEven)
	if err != nil {
		panic(err)
	}
	r := newBig(x)
	n := newBig(math.Round(x / (2 * math.Pi)))
	r.Sub(r, n.Mul(n, turn))
	term := [2]*big.Float{newBig(1), newBig(0).Copy(r)}
	sum := [2]*big.Float{newBig(1), newBig(0).Copy(r)}
	square := newBig(0).Mul(r, r)
	square.Neg(square)
	for k := 2; k < 60; k++ {
		t := term[k&1]
		t.Mul(t, square).Quo(t, newBig(float64(k*(k-1))))
		sum[k&1].Add(sum[k&1], t)
	}
	return sum[1], sum[0]
}

func newBig(x float64) *big.Float { return new(big.Float).SetPrec(precision).SetFloat64(x) }

func distance(got float64, want *big.Float) float64 {
	d, _ := newBig(got).Sub(newBig(got), want).Float64()
	return math.Abs(d)
}

func BenchmarkSinCos(b *testing.B) {
	x, total := 0.0, 0.0
	for b.Loop() {
		s, c := SinCos(x)
		total += s * c
		x += 0.1
	}
	if math.IsNaN(total) {
		b.Fatal("not a number")
	}
}
