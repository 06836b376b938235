package wire

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
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

// Integers travel in two bytes each, and as many of them fit a chunk as half as many float32.
func TestChunking_Int16(t *testing.T) {
	x := make([]float32, 1000)
	for i := range x {
		x[i] = float32(i*65-32768) * float32(1-2*(i%2))
		x[i] = min(max(x[i], -32768), 32767)
	}
	for _, bytes := range []int{1, 7, 64, 500, 4096} {
		k := Int16.Chunking(len(x), bytes)
		if want := max(bytes/2, 1); k.Elements != want {
			t.Errorf("%d bytes: %d elements, want %d", bytes, k.Elements, want)
		}
		got, crcs := make([]float32, len(x)), []uint32{}
		for i := range k.Count() {
			data := k.Encode(nil, x, i)
			if len(data) != k.Bytes(i) || len(data) > max(bytes, 2) {
				t.Fatalf("%d bytes: chunk %d has %d", bytes, i, len(data))
			}
			if from, _ := k.Span(i); int16(binary.LittleEndian.Uint16(data)) != int16(x[from]) {
				t.Errorf("%d bytes: chunk %d begins with %x for %g", bytes, i, data[:2], x[from])
			}
			crcs = append(crcs, Checksum(data))
			k.Decode(got, i, data)
		}
		if !slices.Equal(got, x) {
			t.Errorf("%d bytes: other values come back", bytes)
		}
		if k.ChecksumOf(x) != Combine(crcs) {
			t.Errorf("%d bytes: another checksum", bytes)
		}
	}
	k := NewChunking(len(x), 64)
	var crcs []uint32
	for i := range k.Count() {
		crcs = append(crcs, Checksum(k.Encode(nil, x, i)))
	}
	if k.ChecksumOf(x) != Combine(crcs) || k.ChecksumOf(nil) != 0 {
		t.Error("float32: another checksum")
	}
}

// Of 8 bits there are four times as many in a chunk as of float32.
func TestChunking_Int8(t *testing.T) {
	x := make([]float32, 300)
	for i := range x {
		x[i] = float32(i%256 - 128)
	}
	for _, bytes := range []int{1, 7, 4096} {
		k := Int8.Chunking(len(x), bytes)
		if k.Elements != bytes {
			t.Errorf("%d bytes: %d elements", bytes, k.Elements)
		}
		got, crcs := make([]float32, len(x)), []uint32{}
		for i := range k.Count() {
			data := k.Encode(nil, x, i)
			if from, to := k.Span(i); len(data) != to-from || len(data) != k.Bytes(i) || int8(data[0]) != int8(x[from]) {
				t.Fatalf("%d bytes: chunk %d is %x", bytes, i, data)
			}
			crcs = append(crcs, Checksum(data))
			k.Decode(got, i, data)
		}
		if !slices.Equal(got, x) || k.ChecksumOf(x) != Combine(crcs) {
			t.Errorf("%d bytes: other values come back, or another checksum", bytes)
		}
	}
}

// What comes back is what was sent, for any bytes and any cut.
func FuzzChunking_Int16(f *testing.F) {
	f.Add([]byte{1, 2, 3, 0xff, 0x7f, 0x80}, 4)
	f.Fuzz(func(t *testing.T, data []byte, bytes int) {
		data = data[:len(data)&^1]
		whole := Int16.Chunking(len(data)/2, max(len(data), 2))
		if whole.Count() == 0 {
			return
		}
		x := make([]float32, whole.Size)
		whole.Decode(x, 0, data)
		k := Int16.Chunking(len(x), bytes)
		var back []byte
		for i := range k.Count() {
			back = append(back, k.Encode(nil, x, i)...)
		}
		if !slices.Equal(back, data) {
			t.Errorf("%x became %x", data, back)
		}
	})
}

func TestChecksum_Castagnoli(t *testing.T) {
	if got := Checksum([]byte("123456789")); got != 0xe3069283 { // the check value of CRC-32C
		t.Errorf("got %08x, want e3069283", got)
	}
	if Combine([]uint32{1, 2}) == Combine([]uint32{2, 1}) {
		t.Error("Combine does not see the order of chunks")
	}
	if got, want := Combine([]uint32{1, 2, 3}), Checksum([]byte{1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0}); got != want {
		t.Errorf("Combine gives %08x, want %08x: that of all chunks", got, want)
	}
}
