package worker

import (
	"testing"

	"github.com/switchyard-ml/switchyard/model"
)

// TestSpread: few steps stay whole; of many there are pieces from all recordings, each with the values of its place.
func TestSpread(t *testing.T) {
	var list []model.Batch
	for n := range 3 {
		var b model.Batch
		b.Resize(1000, 1, 2, 1)
		for i := range b.Observations {
			b.Observations[i] = float32(10000*n + i)
		}
		b.Seen = make([]float32, len(b.Observations))
		list = append(list, b)
	}
	if got := Spread(list, 3000); len(got) != 3 || got[1].T != 1000 {
		t.Errorf("%d recordings stay, want all 3", len(got))
	}
	if got := Spread(list, 0); len(got) != 3 {
		t.Errorf("%d recordings stay without a limit, want all 3", len(got))
	}
	got := Spread(list, 1500)
	want := []struct {
		steps int
		first float32
	}{{512, 0}, {512, 10000}, {512, 20000}}
	if len(got) != len(want) {
		t.Fatalf("%d pieces, want %d", len(got), len(want))
	}
	for i, w := range want {
		b := got[i]
		if b.T != w.steps || b.Observations[0] != w.first || len(b.Observations) != 2*b.T || len(b.Controls) != b.T || len(b.Seen) != 2*b.T {
			t.Errorf("piece %d has %d steps from %v, want %v", i, b.T, b.Observations[0], w)
		}
	}
}
