package vector

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func newGrid(t *testing.T, shards int, sizes ...int) *Grid {
	t.Helper()
	return newGridOf(t, Int16, shards, sizes...)
}

func newGridOf(t *testing.T, width Width, shards int, sizes ...int) *Grid {
	t.Helper()
	g, err := NewGrid(width, sizes, shards)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// Blocks end with their tensors.
func TestNewGrid_Blocks(t *testing.T) {
	g := newGrid(t, 4, 3, 0, 256, 600)
	if want := []int{3, 259, 515, 771, 859}; !slices.Equal(g.ends, want) {
		t.Errorf("blocks end at %v, want %v", g.ends, want)
	}
	if g.Parameters() != 859 || g.Blocks() != 5 || g.Len() != 864 {
		t.Errorf("%d parameters, %d blocks, length %d", g.Parameters(), g.Blocks(), g.Len())
	}
}

// greatest is the greatest integer of a width.
func greatest(width Width) float32 { return float32(int(1)<<(8*width-1) - 1) }

// The greatest sum of all shards fits its integers; for numbers of shards that are powers of two, as most are, another bit
// would not.
func TestNewGrid_SumsFit(t *testing.T) {
	for width, most := range map[Width]int{Int8: 32, Int16: 256} {
		if width.MaxShards() != most {
			t.Errorf("%d bytes have room for %d shards, want %d", width, width.MaxShards(), most)
		}
		for shards := 1; shards <= most; shards++ {
			g := newGridOf(t, width, shards, 1)
			if sum := g.limit * float32(shards); sum > greatest(width) {
				t.Errorf("%d bytes: %d shards of %g make %g", width, shards, g.limit, sum)
			}
			if sum := (2*g.limit + 1) * float32(shards); shards&(shards-1) == 0 && sum <= greatest(width) {
				t.Errorf("%d bytes: %d shards have room for more than %g", width, shards, g.limit)
			}
		}
		for _, shards := range []int{0, most + 1} {
			if _, err := NewGrid(width, []int{1}, shards); err == nil {
				t.Errorf("%d bytes: %d shards are taken", width, shards)
			}
		}
	}
	if _, err := NewGrid(4, []int{1}, 1); err == nil {
		t.Error("integers of 4 bytes are taken")
	}
}

// Grids of different widths are different, also where their integers have as many bits.
func TestGrid_Equal(t *testing.T) {
	short, long := newGridOf(t, Int8, 1, 300), newGridOf(t, Int16, 256, 300)
	if short.bits != long.bits {
		t.Fatalf("%d and %d bits", short.bits, long.bits)
	}
	if short.Equal(long) || !short.Equal(newGridOf(t, Int8, 1, 300)) {
		t.Error("grids of other widths are equal, or those of one are not")
	}
}

// need is the least exponent whose multiples reach a magnitude.
func TestGrid_Need(t *testing.T) {
	for _, g := range []*Grid{newGrid(t, 1, 1), newGrid(t, 4, 1), newGrid(t, 256, 1), newGridOf(t, Int8, 1, 1), newGridOf(t, Int8, 32, 1)} {
		shards := int(greatest(g.width) / g.limit)
		r := rand.New(rand.NewPCG(1, 2))
		for range 10000 {
			x := math.Float32frombits(r.Uint32() &^ (1 << 31))
			if !(x <= math.MaxFloat32) {
				continue
			}
			e := float64(g.need(x))
			reach := func(e float64) bool { return float64(x) <= math.Ldexp(float64(g.limit), int(e)) }
			if !reach(e) || e > lowest && reach(e-1) {
				t.Fatalf("%d shards: %g needs exponent %g", shards, x, e)
			}
		}
		edge := g.limit * 4 // just fits
		if g.need(edge) != 2 || g.need(math.Nextafter32(edge, math.MaxFloat32)) != 3 {
			t.Errorf("%d shards: at the edge %g and %g", shards, g.need(edge), g.need(math.Nextafter32(edge, math.MaxFloat32)))
		}
		if g.need(0) != lowest || g.width.exponent(g.need(math.MaxFloat32)) > highest {
			t.Errorf("zero needs %g, the greatest number %g", g.need(0), g.need(math.MaxFloat32))
		}
	}
}

// gradient is that of a shard: tensors of different magnitudes, some shards with much greater ones.
func gradient(g *Grid, shard int) []float32 {
	r := rand.New(rand.NewPCG(uint64(shard), 9))
	x := make([]float32, g.Len())
	for i := range g.Parameters() {
		x[i] = float32(r.NormFloat64() * math.Ldexp(1, i/200-r.IntN(6)))
		if shard%5 == 3 && i%331 == 7 {
			x[i] *= 1000
		}
	}
	return x
}

// total sums rounded shards, in the given order, by groups that are summed first.
func total(t *testing.T, r Rounder, exponents []float32, order []int, groups int) []float32 {
	t.Helper()
	n := r.Grid.Parameters()
	join := func(to, from []float32) {
		for i := range to {
			if i < n {
				to[i] += from[i]
			} else {
				to[i] = max(to[i], from[i])
			}
		}
	}
	var sum []float32
	for part := range slices.Chunk(order, (len(order)+groups-1)/groups) {
		var of []float32
		for _, shard := range part {
			x := gradient(r.Grid, shard)
			if err := r.Round(x, exponents, 5, shard); err != nil {
				t.Fatal(err)
			}
			if of == nil {
				of = x
			} else {
				join(of, x)
			}
		}
		if sum == nil {
			sum = of
		} else {
			join(sum, of)
		}
	}
	return sum
}

// step is what a step makes of the shards, whatever the order and the groups: the gradient, and the levels afterwards.
// It begins with scales that most blocks do not fit.
func step(t *testing.T, width Width, order []int, groups int) (gradient, levels []float32, passes int) {
	t.Helper()
	grid := newGridOf(t, width, len(order), 7, 900, 300)
	scales := NewScales(width, make([]float32, grid.Blocks()))
	levels = slices.Clone(scales.Levels())
	levels[0], levels[2] = -4, -60 // wide enough; too narrow by far
	scales.Restore(levels)
	for passes = 1; ; passes++ {
		sum := total(t, Rounder{grid, 3}, scales.Exponents(), order, groups)
		for i, v := range sum[:grid.Parameters()] {
			if math.Abs(float64(v)) > float64(greatest(width)) || v != float32(int32(v)) {
				t.Fatalf("pass %d: the sum %g of parameter %d is no integer of %d bytes", passes, v, i, width)
			}
		}
		needs := sum[grid.Parameters():]
		if scales.Widen(needs) > 0 {
			continue
		}
		gradient = slices.Clone(grid.Restore(sum, scales.Exponents()))
		scales.Close(needs)
		return gradient, slices.Clone(scales.Levels()), passes
	}
}

// Any order and any grouping of the shards give the same bits, with a step that has to be made twice.
func TestStep_SameBitsForAnyGrouping(t *testing.T) {
	for _, width := range []Width{Int8, Int16} {
		for _, shards := range []int{1, 4, 32} {
			order := make([]int, shards)
			for i := range order {
				order[i] = i
			}
			want, wantLevels, passes := step(t, width, order, 1)
			if passes != 2 {
				t.Errorf("%d bytes, %d shards: the step was made %d times, want 2", width, shards, passes)
			}
			r := rand.New(rand.NewPCG(4, 4))
			for trial := range 20 {
				r.Shuffle(shards, func(i, j int) { order[i], order[j] = order[j], order[i] })
				got, levels, passes := step(t, width, order, 1+r.IntN(shards))
				if !slices.Equal(got, want) || !slices.Equal(levels, wantLevels) || passes != 2 {
					t.Fatalf("%d bytes, %d shards, trial %d: other bits, %d passes", width, shards, trial, passes)
				}
			}
		}
	}
}

// Scales that were widened once by what all shards need fit each of them, and blocks that fitted keep theirs.
func TestWiden_FitsAtTheSecondTime(t *testing.T) {
	start := []float32{-20, -20, -20, -5}
	needs := [][]float32{{-30, -18, -40, -16}, {-19, -21, -20, -10}, {-25, -18, -19, -22}}
	want := slices.Clone(start)
	all := slices.Clone(needs[0])
	for _, n := range needs[1:] {
		for b := range all {
			all[b] = max(all[b], n[b])
		}
	}
	if Int16.Widen(want, all) != 3 || want[3] != -5 {
		t.Fatalf("widened to %v", want)
	}
	for _, n := range needs {
		for b := range n {
			if n[b] > want[b] {
				t.Errorf("block %d does not fit %g", b, want[b])
			}
		}
	}
	if Int16.Widen(want, all) != 0 {
		t.Error("it does not fit at the second time")
	}
}

// The rounded gradient is within a unit of the gradient, and right on average.
func TestRound_NearAndUnbiased(t *testing.T) {
	for _, width := range []Width{Int8, Int16} {
		nearAndUnbiased(t, newGridOf(t, width, 4, 300, 50))
	}
}

func nearAndUnbiased(t *testing.T, grid *Grid) {
	t.Helper()
	exponents := make([]float32, grid.Blocks())
	x := gradient(grid, 0)
	sum := make([]float64, grid.Parameters())
	const steps = 4000
	for s := range uint64(steps) {
		y := slices.Clone(x)
		if s == 0 { // what it needs, with room
			if err := (Rounder{grid, 1}).Round(y, exponents, s, 0); err != nil {
				t.Fatal(err)
			}
			grid.width.Widen(exponents, y[grid.Parameters():])
			y = slices.Clone(x)
		}
		if err := (Rounder{grid, 1}).Round(y, exponents, s, 0); err != nil {
			t.Fatal(err)
		}
		for i, v := range grid.Restore(y, exponents) {
			unit := float64(power(exponents[i/256]))
			if i >= 300 {
				unit = float64(power(exponents[2]))
			}
			d := float64(v) - float64(x[i])
			if math.Abs(d) >= unit {
				t.Fatalf("parameter %d: %g became %g, the unit is %g", i, x[i], v, unit)
			}
			sum[i] += d / unit
		}
	}
	for i, d := range sum {
		if mean := d / steps; math.Abs(mean) > 5*0.5/math.Sqrt(steps) {
			t.Errorf("parameter %d is off by %g units on average", i, mean)
		}
	}
}

// Rounding is a function of seed, step and shard.
func TestRound_Draws(t *testing.T) {
	grid := newGrid(t, 4, 500)
	exponents := []float32{-10, -10}
	round := func(seed, step uint64, shard int) []float32 {
		x := gradient(grid, 1)
		if err := (Rounder{grid, seed}).Round(x, exponents, step, shard); err != nil {
			t.Fatal(err)
		}
		return x
	}
	want := round(1, 2, 3)
	if !slices.Equal(round(1, 2, 3), want) {
		t.Error("the same draws give other bits")
	}
	for _, other := range [][]float32{round(2, 2, 3), round(1, 3, 3), round(1, 2, 2)} {
		if slices.Equal(other, want) {
			t.Error("other draws give the same bits")
		}
	}
}

func TestRound_NotFinite(t *testing.T) {
	grid := newGrid(t, 4, 500)
	for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))} {
		for _, at := range []int{0, 255, 499} {
			x := gradient(grid, 0)
			x[at] = bad
			if err := (Rounder{grid, 1}).Round(x, make([]float32, 2), 0, 0); !errors.Is(err, ErrNotFinite) {
				t.Errorf("%g at %d: %v", bad, at, err)
			}
		}
	}
}

// A level rises at once and falls slowly; what is far below the highest counts as no lower than the span.
func TestScales(t *testing.T) {
	for _, width := range []Width{Int8, Int16} {
		scalesOf(t, width)
	}
}

func scalesOf(t *testing.T, width Width) {
	t.Helper()
	headroom := float32(width.headroom())
	s := NewScales(width, make([]float32, 3))
	if s.Widen([]float32{-10, -20, lowest}) != 2 {
		t.Errorf("exponents %v before anything is known", s.Exponents())
	}
	s.Close([]float32{-10, -20, lowest})
	if want := []float32{-10 + headroom, -20 + headroom, -10 - span + headroom}; !slices.Equal(s.Exponents(), want) {
		t.Errorf("exponents %v, want %v", s.Exponents(), want)
	}
	for range int(1 / fade) {
		s.Close([]float32{-40, -20, lowest})
	}
	if want := []float32{-11, -20, lowest}; !slices.Equal(s.Levels(), want) {
		t.Errorf("levels %v, want %v", s.Levels(), want)
	}
	again := NewScales(width, make([]float32, 3))
	again.Restore(s.Levels())
	if !slices.Equal(again.Exponents(), s.Exponents()) {
		t.Errorf("restored exponents %v, want %v", again.Exponents(), s.Exponents())
	}
	again.Restore(nil)
	if fresh := NewScales(width, make([]float32, 3)); !slices.Equal(again.Exponents(), fresh.Exponents()) || !slices.Equal(again.Levels(), fresh.Levels()) {
		t.Errorf("begun anew: %v", again.Exponents())
	}
}

func TestRound_DoesNotAllocate(t *testing.T) {
	grid := newGrid(t, 4, 1000)
	x, exponents := gradient(grid, 0), make([]float32, grid.Blocks())
	if n := testing.AllocsPerRun(10, func() {
		if err := (Rounder{grid, 1}).Round(x, exponents, 1, 2); err != nil {
			t.Fatal(err)
		}
		grid.Restore(x, exponents)
	}); n != 0 && !underRace {
		t.Errorf("%g allocations", n)
	}
}

func BenchmarkRound(b *testing.B) {
	for _, n := range []int{4096, 1 << 20} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			grid, err := NewGrid(Int16, []int{n}, 8)
			if err != nil {
				b.Fatal(err)
			}
			x, exponents := gradient(grid, 0), make([]float32, grid.Blocks())
			b.SetBytes(int64(4 * n))
			b.ReportAllocs()
			for b.Loop() {
				if err := (Rounder{grid, 1}).Round(x, exponents, 1, 2); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
