package chaos

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func record(step int, split string) string {
	return fmt.Sprintf(`{"step":%d,"split":%q,"time":"2026-01-02T03:04:05.%03dZ","seconds":1,"values":{}}`+"\n", step, split, step)
}

// The tail of a file that grows, is torn and is cut, as metrics are when a coordinator is killed and started again.
func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "metrics.jsonl")
	var tail tail
	read := func(want ...uint64) {
		t.Helper()
		steps, err := tail.read(path)
		if err != nil || len(steps) != len(want) {
			t.Fatalf("got %v, %v, want %v", steps, err, want)
		}
		for i := range want {
			if steps[i].step != want[i] {
				t.Fatalf("got %v, want %v", steps, want)
			}
		}
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	read()
	one, two, three := record(1, "train"), record(2, "train"), record(3, "train")
	write(one + record(1, "validation") + two[:10])
	read(1)
	write(one + record(1, "validation") + two + three)
	read(2, 3)
	write(one)
	read()
	write(one + two)
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
