package kernel

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// triples draws operands of an FMA that are hard in some way.
var triples = []struct {
	name string
	draw func(r *rand.Rand) (a, b, c float32)
}{
	{"any bits", each(func(r *rand.Rand) float32 { return math.Float32frombits(r.Uint32()) })},
	{"normal", each(func(r *rand.Rand) float32 { return float32(r.NormFloat64()) })},
	{"few bits, many ties", each(func(r *rand.Rand) float32 {
		keep := uint32(0x7fffff) << (11 + r.IntN(12)) & 0x7fffff
		return math.Float32frombits(uint32(111+r.IntN(32))<<23 | r.Uint32()&(signBit|keep))
	})},
	{"subnormal results", each(func(r *rand.Rand) float32 {
		return math.Float32frombits(uint32(r.IntN(90))<<23 | r.Uint32()&0x807fffff)
	})},
	{"beside a midpoint", func(r *rand.Rand) (a, b, c float32) {
		c = math.Float32frombits(uint32(100+r.IntN(50))<<23 | r.Uint32()&0x807fffff)
		_, e := math.Frexp(float64(c))
		a = float32(1 + float64(r.IntN(8)-4)*math.Ldexp(1, -23))
		b = float32(math.Ldexp(1+float64(r.IntN(8)-4)*math.Ldexp(1, -23), e-25)) // half an ulp of c
		if r.IntN(2) == 0 {
			a = -a
		}
		return a, b, c
	}},
}

func each(f func(r *rand.Rand) float32) func(r *rand.Rand) (a, b, c float32) {
	return func(r *rand.Rand) (a, b, c float32) { return f(r), f(r), f(r) }
}

// TestFMA_RoundsOnce compares with the exact value, rounded once by package big.
func TestFMA_RoundsOnce(t *testing.T) {
	r := source()
	for _, tr := range triples {
		for range 5000 {
			a, b, c := tr.draw(r)
			if sum := float64(a)*float64(b) + float64(c); sum == 0 || math.IsNaN(sum) || math.IsInf(sum, 0) {
				continue // big.Float has no NaN, and other zeros
			}
			x := new(big.Float).SetPrec(600).SetFloat64(float64(a) * float64(b))
			x.Add(x, big.NewFloat(float64(c)))
			want, _ := x.Float32()
			if got := FMA(a, b, c); !same(got, want) {
				t.Fatalf("%s: FMA(%x, %x, %x) = %x, want %x", tr.name, a, b, c, got, want)
			}
		}
	}
}

// TestFMA_IsHardware compares with the instruction, through AddMul.
func TestFMA_IsHardware(t *testing.T) {
	n := 1 << 19
	if underRace {
		n = 1 << 14
	}
	r := source()
	a, b, c, want := make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, n)
	for _, tr := range triples {
		for i := range a {
			a[i], b[i], c[i] = tr.draw(r)
			want[i] = FMA(a[i], b[i], c[i])
		}
		AddMul(c, a, b)
		compare(t, "FMA of "+tr.name, c, want)
	}
}
