//go:build exhaustive

package kernel

import (
	"math"
	"testing"
)

// go test -tags exhaustive -run 'Accuracy|AllBits' ./autodiff/kernel takes some
// 20 minutes.

const accuracyStride uint64 = 1

// TestFunctions_AllBits compares all instruction sets on all 2³² arguments, and the
// portable code on every 61st.
func TestFunctions_AllBits(t *testing.T) {
	const n = 1 << 13
	src, got, first := make([]float32, n), make([]float32, n), make([]float32, n)
	for _, f := range functions {
		for base := uint64(0); base < 1<<32; base += n {
			for i := range src {
				src[i] = math.Float32frombits(uint32(base) + uint32(i))
			}
			for i, isa := range Available()[1:] {
				active = isa
				f.vector(got, src)
				if i == 0 {
					copy(first, got)
				}
				compare(t, f.name, got, first)
			}
			for i := int((61 - base%61) % 61); i < n; i += 61 {
				if want := f.single(src[i]); !same(first[i], want) {
					t.Fatalf("%s(%g) = %g, want %g", f.name, src[i], first[i], want)
				}
			}
		}
	}
	active = Best()
}
