package worker

import (
	"slices"
	"sync"
	"testing"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/model/slds"
	"github.com/switchyard-ml/switchyard/rng"
)

// gradient is that of a shard, with its terms.
func gradient(t *testing.T, p *Shards, slot int, step uint64, shard int) []float32 {
	t.Helper()
	out := make([]float32, p.Size()+len(p.TermNames()))
	if err := p.Gradient(slot, step, shard, out[:p.Size()], out[p.Size():]); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestShards_PreparedOrNot: a gradient is the same whether all, a part or nothing of its batch was drawn ahead, by the
// same slot or another, for this shard or for others.
func TestShards_PreparedOrNot(t *testing.T) {
	plain := testShards(t, slds.Concrete, 1)
	p := testShards(t, slds.Concrete, 2)
	n := p.sampling.Batch / p.sampling.Shards
	prepare := func(slot int, step uint64, shard, times int) {
		for i := range times {
			if more := p.Prepare(slot, step, shard); more != (i < n-1) {
				t.Fatalf("after %d sequences of %d there are more: %t", i+1, n, more)
			}
		}
	}
	for step := range uint64(4) {
		prepare(0, step, 0, n)
		prepare(1, step, 1, 1)
		prepare(0, step+1, 2, n) // ahead of what is asked for meanwhile, and given up at last
		for shard := range 4 {
			if !slices.Equal(gradient(t, p, 0, step, shard), gradient(t, plain, 0, step, shard)) {
				t.Errorf("step %d: the gradient of shard %d depends on what was prepared", step, shard)
			}
		}
	}
}

// TestShards_PreparedIsUsed: the sequences of a prepared shard are not drawn again.
func TestShards_PreparedIsUsed(t *testing.T) {
	p := testShards(t, slds.Concrete, 1)
	for p.Prepare(0, 5, 2) {
	}
	p.sequences = nil // drawing panics
	gradient(t, p, 0, 5, 2)
}

// TestBatches_AreBounded: whatever was prepared in vain, there are no more batches than a step needs and one.
func TestBatches_AreBounded(t *testing.T) {
	p := testShards(t, slds.Normal, 1)
	for step := range uint64(30) {
		step = (step * 7) % 30 // forth and back
		for shard := range p.sampling.Shards {
			p.Prepare(0, step+1, shard)
		}
		gradient(t, p, 0, step, int(step)%p.sampling.Shards)
	}
	if n := len(p.batches.begun) + len(p.batches.free); n > p.sampling.Shards+1 {
		t.Errorf("%d batches", n)
	}
}

// TestEpisodes_KeptOrNot: windows hold the same values whether the set is kept, one goroutine or several ask for an
// episode, and wherever it begins.
func TestEpisodes_KeptOrNot(t *testing.T) {
	env, err := envs.NewNoise(3, 2)
	if err != nil {
		t.Fatal(err)
	}
	const n, length, steps = 5, 40, 7
	key := rng.New(1, rng.Episode)
	kept, fresh := newEpisodes(env, key, n, length), newEpisodes(env, key, n, length)
	fresh.kept = nil
	var work sync.WaitGroup
	for range 4 {
		work.Go(func() {
			var a, b Window
			for i := range n * (length - steps + 1) {
				index, first := i%n, i/n
				kept.window(&a, index, first, steps)
				fresh.window(&b, index, first, steps)
				if a.First != first || b.First != first ||
					!slices.Equal(a.Observations[3*first:3*(first+steps)], b.Observations[3*first:3*(first+steps)]) ||
					!slices.Equal(a.Controls[2*first:2*(first+steps)], b.Controls[2*first:2*(first+steps)]) {
					t.Errorf("episode %d from step %d differs", index, first)
				}
			}
		})
	}
	work.Wait()
}

func TestEpisodes_LargeSetsAreNotKept(t *testing.T) {
	env, err := envs.NewNoise(1000, 24)
	if err != nil {
		t.Fatal(err)
	}
	const length = 16 // 64 KiB an episode
	if e := newEpisodes(env, rng.New(1, rng.Episode), 1024, length); e.bytes() < 64<<20 || e.bytes() > 64<<20+8192 {
		t.Errorf("64 MiB of episodes keep %d bytes", e.bytes())
	}
	if e := newEpisodes(env, rng.New(1, rng.Episode), 1025, length); e.bytes() != 0 {
		t.Errorf("a larger set keeps %d bytes", e.bytes())
	}
}
