package store

import (
	"errors"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/switchyard-ml/switchyard/internal/disk"
)

// drain reads all that a tail has, in pieces of three.
func drain(t *testing.T, tail *Tail) (steps []uint64, back bool) {
	t.Helper()
	for {
		records, b, err := tail.Next(3)
		if err != nil {
			t.Fatal(err)
		}
		back = back || b
		for _, r := range records {
			steps = append(steps, r.Step)
		}
		if len(records) == 0 {
			return steps, back
		}
	}
}

func follow(t *testing.T, dir string, from Position) *Tail {
	t.Helper()
	tail, err := Follow(dir, "a", from)
	if err != nil {
		t.Fatal(err)
	}
	return tail
}

func TestTail_ReadsWhatIsAppended(t *testing.T) {
	dir := t.TempDir()
	r := create(t, dir, "a")
	tail := follow(t, dir, Position{})
	if steps, back := drain(t, tail); len(steps) != 0 || back {
		t.Errorf("an empty run gave %v, back %v", steps, back)
	}
	appendSteps(t, r, 1, 2, 3, 4)
	if steps, _ := drain(t, tail); fmt.Sprint(steps) != "[1 2 3 4]" {
		t.Errorf("got %v", steps)
	}
	if _, err := r.metrics.file.Write([]byte(`{"step":5,"split"`)); err != nil {
		t.Fatal(err)
	}
	if steps, _ := drain(t, tail); len(steps) != 0 {
		t.Errorf("a torn line gave %v", steps)
	}
	if _, err := r.metrics.file.Write([]byte(`:"train"}` + "\n")); err != nil {
		t.Fatal(err)
	}
	if steps, _ := drain(t, tail); fmt.Sprint(steps) != "[5]" || tail.Position() != (Position{5, 1}) {
		t.Errorf("got %v, at %v", steps, tail.Position())
	}
}

// TestFollow_FromEverywhere: a tail that begins at any position reads exactly what
// follows, also in a file too large to be read line by line.
func TestFollow_FromEverywhere(t *testing.T) {
	dir := t.TempDir()
	r := create(t, dir, "a")
	const steps = 9000
	for s := uint64(1); s <= steps; s++ {
		appendSteps(t, r, s)
		if s%10 == 0 {
			appendSteps(t, r, s)
		}
	}
	if info, err := os.Stat(r.Path(metricsFile)); err != nil || info.Size() < 2*nearby {
		t.Fatalf("the file is too small for this test: %v, %v", info, err)
	}
	for s := uint64(0); s < steps; s += 105 {
		for count := range 3 {
			tail := follow(t, dir, Position{s, count})
			records, back, err := tail.Next(1)
			if err != nil || back || len(records) != 1 {
				t.Fatalf("from %d.%d: %v, back %v, %v", s, count, records, back, err)
			}
			want := s + 1
			if s > 0 && (count == 0 || s%10 == 0 && count == 1) {
				want = s
			}
			if records[0].Step != want {
				t.Errorf("from %d.%d: got step %d, want %d", s, count, records[0].Step, want)
			}
		}
	}
}

func TestTail_GoesBackWithTheRun(t *testing.T) {
	dir := t.TempDir()
	r := create(t, dir, "a")
	appendSteps(t, r, 1, 2, 3, 4, 4, 5, 6)
	tail := follow(t, dir, Position{})
	drain(t, tail)
	if err := cutMetrics(disk.System(), r.Path(metricsFile), math.MaxInt64, 4); err != nil {
		t.Fatal(err)
	}
	records, back, err := tail.Next(10)
	if err != nil || !back || len(records) != 0 || tail.Position() != (Position{4, 2}) {
		t.Fatalf("got %v, back %v, at %v, %v", records, back, tail.Position(), err)
	}
	appendSteps(t, r, 5, 6)
	if steps, back := drain(t, tail); fmt.Sprint(steps) != "[5 6]" || back {
		t.Errorf("got %v, back %v", steps, back)
	}
	// A reader that comes back with a position that is not there any more.
	if records, back, err := follow(t, dir, Position{9, 1}).Next(10); err != nil || !back || len(records) != 0 {
		t.Errorf("got %v, back %v, %v", records, back, err)
	}
}

func TestTail_Damage(t *testing.T) {
	dir := t.TempDir()
	r := create(t, dir, "a")
	appendSteps(t, r, 1)
	if _, err := r.metrics.file.Write([]byte("nonsense\n")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := follow(t, dir, Position{}).Next(10); !errors.Is(err, ErrDamaged) {
		t.Errorf("got %v", err)
	}
	if _, err := Follow(dir, "b", Position{}); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

func TestParsePosition(t *testing.T) {
	for _, p := range []Position{{}, {1, 1}, {1 << 63, 7}} {
		if got, err := ParsePosition(p.String()); err != nil || got != p {
			t.Errorf("%v: got %v, %v", p, got, err)
		}
	}
	for _, text := range []string{"", "1", "x.1", "1.-1", "-1.1", "1.1.1", "1.99999999999"} {
		if p, err := ParsePosition(text); err == nil {
			t.Errorf("%q: got %v and no error", text, p)
		}
	}
}

// TestTail_NothingNew: asking a run that has ended for more makes no buffers. A page asks for hundreds of runs at a time.
func TestTail_NothingNew(t *testing.T) {
	dir := t.TempDir()
	appendSteps(t, create(t, dir, "a"), 1, 2, 3)
	tail := follow(t, dir, Position{})
	drain(t, tail)
	asked := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if records, back, err := tail.Next(100); len(records) > 0 || back || err != nil {
				b.Fatal(records, back, err)
			}
		}
	})
	if bytes := asked.AllocedBytesPerOp(); bytes >= nearby/4 {
		t.Errorf("nothing new costs %d bytes", bytes)
	}
}
