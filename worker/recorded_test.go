package worker

import (
	"errors"
	"slices"
	"testing"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/rng"
)

// ragged is a data set of episodes with the given lengths; observation t of episode i is 100·i + t.
func ragged(lengths ...int) *files.Dataset {
	d := &files.Dataset{Spec: envs.Spec{Name: "files", Observation: 1, Control: 1}}
	for i, n := range lengths {
		var e files.Episode
		e.Resize(d.Spec, n)
		for t := range n {
			e.Observations[t], e.Controls[t] = float32(100*i+t), float32(t)
		}
		d.Episodes = append(d.Episodes, e)
	}
	return d
}

// TestRecorded_EveryWindowIsDrawn: all windows of the training episodes appear, each inside one of
// them, and none of another part.
func TestRecorded_EveryWindowIsDrawn(t *testing.T) {
	d := ragged(7, 3, 12, 5, 9)
	r, err := NewRecorded(d, files.Split{Training: []int{0, 1, 2}, Validation: []int{3}, Test: []int{4}}, 5)
	if err != nil {
		t.Fatal(err)
	}
	draws := rng.New(1, rng.Batch).At(0, 0, 0)
	seen := map[float32]int{}
	var w Window
	for range 2000 {
		r.Training(&w, &draws, 5)
		if w.First+5 > len(w.Observations) {
			t.Fatalf("window at %d of an episode of %d steps", w.First, len(w.Observations))
		}
		seen[w.Observations[w.First]]++
	}
	for episode, last := range map[int]int{0: 2, 2: 7} { // first steps of windows; episode 1 is too short
		for first := range last + 1 {
			if n := seen[float32(100*episode+first)]; n < 100 {
				t.Errorf("the window at step %d of episode %d was drawn %d times of 2000", first, episode, n)
			}
			delete(seen, float32(100*episode+first))
		}
	}
	if len(seen) != 0 {
		t.Errorf("windows that do not exist were drawn: %v", seen)
	}
	if r.Validation(&w, &draws, 0, 5); w.Observations[0] != 300 || w.First != 0 {
		t.Errorf("validation window begins at step %d of the episode with first value %v", w.First, w.Observations[0])
	}
	if training, validation := r.Used(); training != 2 || validation != 1 {
		t.Errorf("%d training and %d validation episodes are used, want 2 and 1", training, validation)
	}
}

func TestNewRecorded_RefusesWhatHasNoWindow(t *testing.T) {
	d := ragged(7, 3)
	for _, s := range []files.Split{{Training: []int{0}, Validation: []int{1}}, {Training: []int{1}, Validation: []int{0}}, {Training: []int{0}}} {
		if _, err := NewRecorded(d, s, 5); !errors.Is(err, files.ErrData) {
			t.Errorf("split %v: error %v", s, err)
		}
	}
}

// TestShards_FromRecordedSequences: missing values reach the batch.
func TestShards_FromRecordedSequences(t *testing.T) {
	d := ragged(8, 8, 8)
	d.Episodes[1].Mask = slices.Repeat([]float32{1}, 8)
	d.Episodes[1].Mask[2], d.Episodes[1].Observations[2] = 0, 0
	r, err := NewRecorded(d, files.Split{Training: []int{1}, Validation: []int{2}}, 8)
	if err != nil {
		t.Fatal(err)
	}
	p := &Shards{sequences: r, sampling: Sampling{Window: 8}}
	var w Window
	var b batch
	b.begin(p, 2)
	draws := rng.New(1, rng.Batch).At(0, 0, 0)
	r.Training(&w, &draws, 8)
	b.place(&w)
	r.Validation(&w, &draws, 0, 8)
	b.place(&w)
	want := slices.Repeat([]float32{1}, 16)
	want[2*2] = 0
	if !slices.Equal(b.Seen, want) {
		t.Errorf("mask %v", b.Seen)
	}
}
