//go:build !race

// The race detector allocates on its own, so the test of allocations is built without it.

package worker

import (
	"slices"
	"testing"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/model/slds"
	"github.com/switchyard-ml/switchyard/rng"
)

// TestShards_WarmGradientAllocatesNothing.
func TestShards_WarmGradientAllocatesNothing(t *testing.T) {
	for _, switching := range []slds.Switching{slds.Concrete, slds.Normal} {
		p := testShards(t, switching, 1)
		grad, terms := make([]float32, p.Size()), make([]float32, 5)
		step := func() {
			if err := p.Gradient(0, 0, 0, grad, terms); err != nil {
				t.Fatal(err)
			}
		}
		step()
		step()
		if n := testing.AllocsPerRun(5, step); n != 0 {
			t.Errorf("%s: a warm gradient allocates %v times", switching, n)
		}
		rounded, state := testRounded(t, p)
		if err := rounded.Load(0, state); err != nil {
			t.Fatal(err)
		}
		integers := make([]float32, rounded.Size())
		if n := testing.AllocsPerRun(5, func() {
			if err := rounded.Gradient(0, 0, 0, integers, terms); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: a warm gradient in integers allocates %v times", switching, n)
		}
		if p.Flops() <= 0 {
			t.Error("work is not counted")
		}
	}
}

// TestShards_RecordedAllocateNothing, with missing values, prepared or not, once all that is to be met was met.
func TestShards_RecordedAllocateNothing(t *testing.T) {
	d := &files.Dataset{Spec: envs.Spec{Name: "files", Observation: 2, Control: 1}}
	split := files.Split{Validation: []int{0}}
	for i := range 12 {
		e := files.Episode{}
		e.Resize(d.Spec, 25+i)
		if i%2 == 1 {
			e.Mask = slices.Repeat([]float32{1, 0}, e.T)
		}
		d.Episodes = append(d.Episodes, e)
		split.Training = append(split.Training, i)
	}
	r, err := NewRecorded(d, split, 20)
	if err != nil {
		t.Fatal(err)
	}
	m, err := slds.New(testConfig(slds.Normal), rng.New(1, rng.Init))
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewShards(m, r, Sampling{Seed: 1, Batch: 8, Shards: 2, Window: 20, Validation: 2}, 1)
	if err != nil {
		t.Fatal(err)
	}
	grad, terms := make([]float32, p.Size()), make([]float32, 5)
	step := uint64(0)
	run := func() {
		for p.Prepare(0, step+1, 0) {
		}
		for shard := range 2 {
			if err := p.Gradient(0, step, shard, grad, terms); err != nil {
				t.Fatal(err)
			}
		}
		step++
	}
	for range 10 {
		run()
	}
	if n := testing.AllocsPerRun(20, run); n != 0 {
		t.Errorf("a warm step allocates %v times", n)
	}
}

// TestReplicas_WarmRoundAllocatesNothing.
func TestReplicas_WarmRoundAllocatesNothing(t *testing.T) {
	p := newLocal(t, 1, 2)
	delta, terms := make([]float32, p.Size()), make([]float32, len(p.TermNames()))
	goOn := func() bool { return true }
	if err := p.Load(0, testShards(t, slds.Concrete, 1).model.Params().Values); err != nil {
		t.Fatal(err)
	}
	round := func() {
		if err := p.GradientWhile(0, 0, 0, delta, terms, goOn); err != nil {
			t.Fatal(err)
		}
	}
	round()
	round()
	if n := testing.AllocsPerRun(5, round); n != 0 {
		t.Errorf("a warm round allocates %v times", n)
	}
}
