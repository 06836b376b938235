package store

import (
	"bytes"
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/switchyard-ml/switchyard/internal/disk"
)

func appendSteps(t *testing.T, r *Run, steps ...uint64) {
	t.Helper()
	for _, s := range steps {
		if err := r.Append(Record{Step: s, Split: "train", Values: Values{"loss": float64(s), "objective": -float64(s)}}); err != nil {
			t.Fatal(err)
		}
	}
}

func readSteps(t *testing.T, dir, name string) []uint64 {
	t.Helper()
	var steps []uint64
	err := ReadMetrics(dir, name, func(m Record) error { steps = append(steps, m.Step); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return steps
}

func TestBegin_CutsAfterTheCheckpointAndTheTornLine(t *testing.T) {
	for _, c := range []struct {
		tail string
		step uint64
		want int
	}{{"", 4, 4}, {"", 10, 4}, {"", 2, 2}, {"", 0, 0}, {`{"step":5,"spl`, 10, 4}, {"\x00\x00\x00\n{\"step\":6}\n", 10, 4}} {
		dir := t.TempDir()
		r := create(t, dir, "a")
		appendSteps(t, r, 1, 2, 3, 4)
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(r.Path(metricsFile))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(r.Path(metricsFile), append(text, c.tail...), 0o644); err != nil {
			t.Fatal(err)
		}
		again, err := Open(dir, "a")
		if err != nil {
			t.Fatal(err)
		}
		if err := again.Begin(c.step); err != nil {
			t.Fatal(err)
		}
		appendSteps(t, again, 20)
		if got := readSteps(t, dir, "a"); len(got) != c.want+1 || got[len(got)-1] != 20 {
			t.Errorf("tail %q, step %d: got %v, want %d old records and 20", c.tail, c.step, got, c.want)
		}
		if info := again.Info(); info.State != Running || info.Step != c.step {
			t.Errorf("run.json holds %+v", info)
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReadMetrics_NamesTheBadLine(t *testing.T) {
	dir := t.TempDir()
	r := create(t, dir, "a")
	appendSteps(t, r, 1)
	if _, err := r.metrics.file.Write([]byte("nonsense\n")); err != nil {
		t.Fatal(err)
	}
	err := ReadMetrics(dir, "a", func(Record) error { return nil })
	if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "line 3") {
		t.Errorf("got %v", err)
	}
}

func TestValues_NonFiniteSurvive(t *testing.T) {
	dir := t.TempDir()
	r := create(t, dir, "a")
	want := Values{"a": math.NaN(), "b": math.Inf(1), "c": math.Inf(-1), "d": 0.1}
	if err := r.Append(Record{Step: 1, Values: want}); err != nil {
		t.Fatal(err)
	}
	err := ReadMetrics(dir, "a", func(m Record) error {
		for name, v := range want {
			if got := m.Values[name]; math.Float64bits(got) != math.Float64bits(v) && !(math.IsNaN(got) && math.IsNaN(v)) {
				t.Errorf("%s: got %v, want %v", name, got, v)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Records that a full disk does not take are written when there is room again, in order, and none twice.
func TestAppend_FullDisk(t *testing.T) {
	dir := t.TempDir()
	r := create(t, dir, "a")
	room := 100
	r.Use(disk.Faulty(disk.System(), func(a disk.Act) (int, error) {
		if left := room; a.Bytes > left {
			room = 0
			return left, syscall.ENOSPC
		}
		room -= a.Bytes
		return 0, nil
	}))
	failed := 0
	for s := uint64(1); s <= 9; s++ {
		if s == 8 {
			room = 1e6
		}
		err := r.Append(Record{Step: s})
		if err != nil {
			failed++
		}
		if err != nil && (!errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "metrics.jsonl")) {
			t.Errorf("got %v, want ENOSPC with the file", err)
		}
	}
	if failed < 3 || failed > 6 {
		t.Errorf("%d records met a full disk", failed)
	}
	var got []uint64
	err := ReadMetrics(dir, "a", func(m Record) error {
		got = append(got, m.Step)
		return nil
	})
	if want := []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got steps %v, %v", got, err)
	}
}

// A run that went back has neither records nor pending ones of the steps that are void.
func TestCut(t *testing.T) {
	dir := t.TempDir()
	r := create(t, dir, "a")
	full := false
	r.Use(disk.Faulty(disk.System(), func(a disk.Act) (int, error) {
		if full && a.Bytes > 0 {
			return 0, syscall.ENOSPC
		}
		return 0, nil
	}))
	for s := uint64(1); s <= 6; s++ {
		full = s > 4
		if err := r.Append(Record{Step: s}); (err != nil) != full {
			t.Fatal(err)
		}
	}
	full = false
	err := errors.Join(r.Cut(5), r.Append(Record{Step: 6}), r.Cut(2), r.Append(Record{Step: 3}))
	var got []uint64
	err = errors.Join(err, ReadMetrics(dir, "a", func(m Record) error {
		got = append(got, m.Step)
		return nil
	}))
	if want := []uint64{1, 2, 3}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got steps %v, %v; want %v", got, err, want)
	}
}

func TestAppend_DevFull(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("/dev/full is a device of Linux")
	}
	path := filepath.Join(t.TempDir(), metricsFile)
	if err := os.Symlink("/dev/full", path); err != nil {
		t.Fatal(err)
	}
	l, err := openMetrics(disk.System(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.append(Record{Step: 1}); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), metricsFile) {
		t.Errorf("got %v, want ENOSPC with the file", err)
	}
	if err := errors.Join(os.Remove(path), l.close()); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(path); err != nil || bytes.Count(data, []byte("\n")) != 2 {
		t.Errorf("got %q, %v", data, err)
	}
}

func FuzzKeptLength(f *testing.F) {
	f.Add("{\"step\":1}\n{\"step\":2}\n", uint64(1))
	f.Add("{\"step\":1}\n{\"st", uint64(5))
	f.Fuzz(func(t *testing.T, text string, step uint64) {
		n, err := keptLength(strings.NewReader(text), step)
		if err != nil || n < 0 || n > int64(len(text)) || n > 0 && text[n-1] != '\n' {
			t.Fatalf("kept %d of %d bytes, %v", n, len(text), err)
		}
	})
}

// TestMetrics_OfAnOlderRelease: its "elbo" was minus the loss, which is called objective. What both are stays both.
func TestMetrics_OfAnOlderRelease(t *testing.T) {
	dir := t.TempDir()
	r := create(t, dir, "a")
	old := `{"step":1,"split":"validation","time":"2026-01-01T00:00:00Z","seconds":1,"values":{"elbo":-3,"loss":3}}` + "\n" +
		`{"step":2,"split":"validation","time":"2026-01-01T00:00:01Z","seconds":2,"values":{"elbo":-4,"loss":2,"objective":-2}}` + "\n"
	if err := os.WriteFile(r.Path(metricsFile), []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.Update(func(i *Info) { i.Metrics = Values{"validation_elbo": -3, "best_validation_elbo": -2.5, "best_step": 7} }); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	want := []Values{{"loss": 3, "objective": -3}, {"loss": 2, "objective": -2, "elbo": -4}}
	var read []Values
	if err := ReadMetrics(dir, "a", func(m Record) error { read = append(read, m.Values); return nil }); err != nil {
		t.Fatal(err)
	}
	tail, err := Follow(dir, "a", Position{})
	if err != nil {
		t.Fatal(err)
	}
	followed, _, err := tail.Next(10)
	if err != nil || len(followed) != len(want) || len(read) != len(want) {
		t.Fatalf("%d and %d records, %v", len(read), len(followed), err)
	}
	for i := range want {
		if !maps.Equal(read[i], want[i]) || !maps.Equal(followed[i].Values, want[i]) {
			t.Errorf("record %d: %v and %v, want %v", i, read[i], followed[i].Values, want[i])
		}
	}
	info, err := Load(dir, "a")
	if err != nil {
		t.Fatal(err)
	}
	if want := (Values{"validation_objective": -3, "best_validation_objective": -2.5, "best_step": 7}); !maps.Equal(info.Metrics, want) {
		t.Errorf("run.json has %v, want %v", info.Metrics, want)
	}
	now := Values{"validation_objective": -1, "validation_elbo": -2}
	if now.upgrade(); len(now) != 2 || now["validation_elbo"] != -2 {
		t.Errorf("values of this release became %v", now)
	}
}

// A run that goes back while its disk is full has each record once, though a write that failed has left a whole line.
func TestCut_AfterAWriteThatFailed(t *testing.T) {
	dir := t.TempDir()
	r := create(t, dir, "a")
	full, first := false, 0
	r.Use(disk.Faulty(disk.System(), func(a disk.Act) (int, error) {
		if !full || a.Kind != "write" {
			return 0, nil
		}
		if first == 0 {
			first = a.Bytes
			return 0, syscall.ENOSPC
		}
		return first + 3, syscall.ENOSPC // the second line is torn
	}))
	appendSteps(t, r, 1)
	full = true
	for _, step := range []uint64{2, 3} {
		record := Record{Step: step, Split: "train", Values: Values{"loss": 1, "objective": -1}}
		if err := r.Append(record); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("step %d: %v", step, err)
		}
	}
	if err := r.Cut(2); err != nil {
		t.Fatal(err)
	}
	full = false
	appendSteps(t, r, 3)
	if got := readSteps(t, dir, "a"); !slices.Equal(got, []uint64{1, 2, 3}) {
		t.Errorf("got %v", got)
	}
}
