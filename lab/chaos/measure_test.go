package chaos

import (
	"testing"
	"time"

	"github.com/switchyard-ml/switchyard/store"
)

// The tail of the metrics of a run that goes on and goes back, as when a coordinator is killed and started again.
func TestTail(t *testing.T) {
	dir := t.TempDir()
	tail := tail{dir: dir, name: "a"}
	read := func(want ...uint64) {
		t.Helper()
		steps, err := tail.read()
		if err != nil || len(steps) != len(want) {
			t.Fatalf("got %v, %v, want %v", steps, err, want)
		}
		for i := range want {
			if steps[i].step != want[i] {
				t.Fatalf("got %v, want %v", steps, want)
			}
		}
	}
	read()
	run, err := store.Create(dir, store.Draft{Name: "a"})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	write := func(step uint64, split string) {
		t.Helper()
		if err := run.Append(store.Record{Step: step, Split: split}); err != nil {
			t.Fatal(err)
		}
	}
	read()
	write(1, "train")
	write(1, "validation")
	read(1)
	write(2, "train")
	write(3, "train")
	read(2, 3)
	if err := run.Cut(1); err != nil {
		t.Fatal(err)
	}
	read()
	write(2, "train")
	read(2)
}

func TestPace(t *testing.T) {
	const usual = 10 * time.Millisecond
	start := time.Unix(1000, 0)
	at := func(ms ...int) (list []step) {
		for i, n := range ms {
			list = append(list, step{uint64(i), start.Add(time.Duration(n) * time.Millisecond)})
		}
		return list
	}
	struck := start.Add(100 * time.Millisecond)
	for _, c := range []struct {
		name  string
		steps []step
		want  time.Duration
	}{
		{"no stall", at(90, 101, 110, 120), time.Millisecond},
		{"one stall", at(90, 101, 500, 510), 400 * time.Millisecond},
		{"two stalls", at(90, 101, 500, 510, 1000, 1010), 900 * time.Millisecond},
		{"a stall before", at(0, 500), 400 * time.Millisecond},
	} {
		if got := pace(c.steps, struck, struck.Add(time.Millisecond), usual); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestMedian(t *testing.T) {
	if got := Median([]float64{3, 1, 2}); got != 2 {
		t.Error(got)
	}
	if got := Median([]float64{4, 1, 2, 3}); got != 3 {
		t.Error(got)
	}
}
