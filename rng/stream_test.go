package rng

import (
	"math"
	"slices"
	"testing"
)

func stream() Stream { return New(42, Noise).At(3, 1, 7) }

// TestGolden pins the numbers of one address: they are part of every run's result.
func TestGolden(t *testing.T) {
	s := stream()
	words := []uint32{s.Uint32(), s.Uint32(), s.Uint32(), s.Uint32(), s.Uint32()}
	if want := []uint32{0xb0819f87, 0xf419a917, 0x982e989d, 0x10fe8d5b, 0x6189be18}; !slices.Equal(words, want) {
		t.Errorf("words %#x, want %#x", words, want)
	}
	if got, want := s.IntN(1000), 465; got != want {
		t.Errorf("IntN: %d, want %d", got, want)
	}
	if got, want := s.Float64(), 0.5736886826184859; got != want {
		t.Errorf("Float64: %v, want %v", got, want)
	}
	if got, want := s.Uniform(-2, 5), 2.0090303563221905; got != want {
		t.Errorf("Uniform: %v, want %v", got, want)
	}
	if got, want := s.Normal(), -0.6460274457931519; got != want {
		t.Errorf("Normal: %v, want %v", got, want)
	}
	bulk := make([]float32, 2)
	for _, c := range []struct {
		name string
		fill func([]float32)
		want []float32
	}{
		{"Uniforms", s.Uniforms, []float32{0.023290493, 0.016360741}},
		{"Normals", s.Normals, []float32{-0.8774689, -0.51699626}},
		{"Gumbels", s.Gumbels, []float32{1.252013, 0.5600342}},
		{"Logistics", s.Logistics, []float32{1.2334573, 0.77778256}},
	} {
		c.fill(bulk)
		if !slices.Equal(bulk, c.want) {
			t.Errorf("%s: %v, want %v", c.name, bulk, c.want)
		}
	}
}

// TestAddresses checks that the parts of an address all count, and that nothing
// else does.
func TestAddresses(t *testing.T) {
	seen := map[uint64]string{}
	for name, s := range map[string]Stream{
		"base":    New(1, Init).At(2, 3, 4),
		"seed":    New(9, Init).At(2, 3, 4),
		"purpose": New(1, Noise).At(2, 3, 4),
		"step":    New(1, Init).At(9, 3, 4),
		"shard":   New(1, Init).At(2, 9, 4),
		"sample":  New(1, Init).At(2, 3, 9),
		"swapped": New(1, Init).At(2, 4, 3),
	} {
		first := s.Uint64()
		if other, ok := seen[first]; ok {
			t.Errorf("%s and %s are one stream", name, other)
		}
		seen[first] = name
	}
	a, b := New(1, Init).At(2, 3, 4), New(1, Init).At(2+1<<32, 3, 4)
	if a != b {
		t.Error("more than 32 bits of the step count, against the documentation")
	}
}

func TestNew_PurposesDiffer(t *testing.T) {
	keys := map[Key]Purpose{}
	for seed := range uint64(100) {
		for p := Init; p <= Fault; p++ {
			k := New(seed, p)
			if _, ok := keys[k]; ok {
				t.Fatalf("seed %d, purpose %d: key used before", seed, p)
			}
			keys[k] = p
		}
	}
}

// TestStream_IsPhilox checks the layout of the counter.
func TestStream_IsPhilox(t *testing.T) {
	s := stream()
	for block := range uint64(3) {
		want := s.philox.Block(7<<32 | block)
		for _, w := range want {
			if got := s.Uint32(); got != w {
				t.Fatalf("block %d: %#x, want %#x", block, got, w)
			}
		}
	}
	s, words := stream(), stream()
	if got, want := s.Uint64(), uint64(words.Uint32())<<32|uint64(words.Uint32()); got != want {
		t.Errorf("Uint64 %#x, want %#x", got, want)
	}
}

func TestStream_CopyGoesOnByItself(t *testing.T) {
	s := stream()
	s.Uint32()
	c := s
	if a, b := s.Uint64(), c.Uint64(); a != b {
		t.Errorf("%#x and %#x from one place", a, b)
	}
}

// TestBulk_Groups checks what the documentation says of groups: bulk numbers start
// at whole groups and use whole ones, so the length changes no number and cutting
// at multiples of 32 changes nothing.
func TestBulk_Groups(t *testing.T) {
	long := make([]float32, 1000)
	s := stream()
	s.Normals(long)
	for n := range 100 {
		short := make([]float32, n)
		s := stream()
		s.Normals(short)
		if !slices.Equal(short, long[:n]) {
			t.Fatalf("the first %d numbers depend on the length", n)
		}
	}
	cut := make([]float32, 1000)
	s = stream()
	for i, j := range []int{0, 32, 96, 352} {
		end := []int{32, 96, 352, 1000}[i]
		s.Normals(cut[j:end])
	}
	if !slices.Equal(cut, long) {
		t.Error("cutting at multiples of 32 changed numbers")
	}
	s = stream()
	s.Uint32() // takes block 0, so the next whole group is the second
	after := make([]float32, 100)
	s.Normals(after)
	if !slices.Equal(after, long[32:132]) {
		t.Error("bulk numbers after a single one do not start at the next group")
	}
	words := stream()
	for range 32 + 128 {
		words.Uint32()
	}
	if got, want := s.Uint32(), words.Uint32(); got != want {
		t.Errorf("single draw after bulk: %#x, want %#x", got, want)
	}
}

func TestIntN_Uniform(t *testing.T) {
	const n, draws = 7, 70000
	var count [n]float64
	s := stream()
	for range draws {
		count[s.IntN(n)]++
	}
	var chi float64
	for _, c := range count {
		chi += (c - draws/n) * (c - draws/n) / (draws / n)
	}
	if chi > 30 { // 6 degrees of freedom: one in 25,000
		t.Errorf("χ² = %g for %v", chi, count)
	}
}

// TestIntN_Rejects has a bound at which a quarter of all draws must be repeated:
// without, one residue modulo 3 would have a share of 1/4, the others of 3/8.
func TestIntN_Rejects(t *testing.T) {
	if math.MaxInt == math.MaxInt32 {
		t.Skip("needs a bound near 2⁶³")
	}
	const n = math.MaxInt/4*3 + 3 // 3·2⁶¹
	s := stream()
	const draws = 30000
	rejected := 0
	var residues [3]float64
	for range draws {
		before := s.position()
		v := s.IntN(n)
		if s.position()-before > 2 {
			rejected++
		}
		if v < 0 || v >= n {
			t.Fatalf("%d is not below %d", v, n)
		}
		residues[v%3]++
	}
	// Of 2⁶⁴ draws, 2⁶⁴ mod n = 2⁶² are rejected.
	if p := float64(rejected) / draws; math.Abs(p-0.25) > 0.015 {
		t.Errorf("%g of the draws were repeated, want 0.25", p)
	}
	for r, c := range residues {
		if math.Abs(c/draws-1.0/3) > 0.015 {
			t.Errorf("residue %d has a share of %g", r, c/draws)
		}
	}
}

// position returns how many words were drawn.
func (s *Stream) position() int { return int(s.next)*4 - s.left }

func TestIntN_Panics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("IntN(0) did not panic")
		}
	}()
	s := stream()
	s.IntN(0)
}

func TestStream_Exhausted(t *testing.T) {
	s := stream()
	s.next = blocks - 8
	s.Uniforms(make([]float32, 32))
	defer func() {
		if recover() == nil {
			t.Error("no panic after the last block")
		}
	}()
	s.Uint32()
}

// TestSingles_Moments allows five standard errors.
func TestSingles_Moments(t *testing.T) {
	const n = 200000
	for name, c := range map[string]struct {
		draw           func(s *Stream) float64
		mean, variance float64
		low, high      float64
	}{
		"Float64": {(*Stream).Float64, 0.5, 1.0 / 12, 0, math.Nextafter(1, 0)},
		"Uniform": {func(s *Stream) float64 { return s.Uniform(-2, 4) }, 1, 3, -2, 4},
		"Normal":  {(*Stream).Normal, 0, 1, -7, 7},
	} {
		s := stream()
		var sum, squares float64
		for range n {
			x := c.draw(&s)
			if x < c.low || x > c.high {
				t.Fatalf("%s: %g", name, x)
			}
			sum += x
			squares += (x - c.mean) * (x - c.mean)
		}
		if off := math.Abs(sum/n - c.mean); off > 5*math.Sqrt(c.variance/n) {
			t.Errorf("%s: mean %g", name, sum/n)
		}
		if off := math.Abs(squares/n - c.variance); off > 5*c.variance*math.Sqrt(2.0/n) {
			t.Errorf("%s: variance %g", name, squares/n)
		}
	}
}

func TestDraws_DoNotAllocate(t *testing.T) {
	dst := make([]float32, 64)
	k := New(1, Noise)
	var sum float64
	allocs := testing.AllocsPerRun(100, func() {
		s := k.At(1, 2, 3)
		sum += s.Normal() + s.Float64() + float64(s.IntN(10))
		s.Normals(dst[:32])
		s.Gumbels(dst)
	})
	if allocs != 0 {
		t.Errorf("%g allocations", allocs)
	}
}

func BenchmarkNormals(b *testing.B) {
	dst := make([]float32, 1024)
	s := stream()
	b.SetBytes(4 * 1024)
	for b.Loop() {
		s.next = 0
		s.Normals(dst)
	}
}

func BenchmarkNormal(b *testing.B) {
	s := stream()
	for b.Loop() {
		s.Normal()
	}
}
