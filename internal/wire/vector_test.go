package wire

import (
	"bytes"
	"math"
	"testing"
)

// The fast conversions of little-endian machines and the portable ones give the same bytes and bits.
func TestFloats_BothWays(t *testing.T) {
	for n := range 20 {
		x := make([]float32, n)
		for i := range x {
			x[i] = math.Float32frombits(uint32(i*0x9e3779b9 + n))
		}
		want := appendFloats(nil, x)
		if got := FloatBytes(x); !bytes.Equal(got, want) {
			t.Fatalf("n %d: got % x, want % x", n, got, want)
		}
		for i := range x {
			b := math.Float32bits(x[i])
			if want[4*i] != byte(b) || want[4*i+3] != byte(b>>24) {
				t.Fatalf("n %d: element %d is not little-endian", n, i)
			}
		}
		for name, get := range map[string]func([]float32, []byte){"GetFloats": GetFloats, "getFloats": getFloats} {
			got := make([]float32, n)
			get(got, want)
			for i := range got {
				if math.Float32bits(got[i]) != math.Float32bits(x[i]) {
					t.Errorf("%s: n %d: element %d: got %x", name, n, i, math.Float32bits(got[i]))
				}
			}
		}
	}
}

func TestChunking_CoversOnce(t *testing.T) {
	for _, c := range []struct{ size, bytes, count int }{{0, 64, 0}, {1, 64, 1}, {16, 64, 1}, {17, 64, 2}, {33, 64, 3}, {5, 3, 5}} {
		k := NewChunking(c.size, c.bytes)
		if k.Count() != c.count {
			t.Errorf("%+v: %d chunks", c, k.Count())
		}
		next := 0
		for i := range k.Count() {
			from, to := k.Span(i)
			if from != next || to <= from || k.Bytes(i) != 4*(to-from) {
				t.Errorf("%+v: chunk %d is [%d,%d), %d bytes", c, i, from, to, k.Bytes(i))
			}
			next = to
		}
		if next != c.size {
			t.Errorf("%+v: chunks end at %d", c, next)
		}
	}
}

func TestChecksum_Castagnoli(t *testing.T) {
	if got := Checksum([]byte("123456789")); got != 0xe3069283 { // the check value of CRC-32C
		t.Errorf("got %08x, want e3069283", got)
	}
	if Combine([]uint32{1, 2}) == Combine([]uint32{2, 1}) {
		t.Error("Combine does not see the order of chunks")
	}
}
