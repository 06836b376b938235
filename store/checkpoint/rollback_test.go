package checkpoint

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/internal/disk"
)

// threeCheckpoints is a folder with the checkpoints of steps 6 and 9, the last two, and 4, which was the best at step
// 6.
func threeCheckpoints(t *testing.T, d disk.Disk) *Store {
	t.Helper()
	s := &Store{Dir: t.TempDir()}
	for _, c := range []struct {
		step, best uint64
	}{{3, 0}, {4, 4}, {6, 4}, {9, 9}} {
		save(t, s, state(c.step, c.best), c.step == c.best)
	}
	if d != nil {
		s.Disk = d
	}
	return s
}

// A run that goes back has the checkpoint it went back to, the best of then, and nothing newer.
func TestRollback(t *testing.T) {
	for _, c := range []struct {
		to, want uint64
		left     string
	}{
		{9, 9, "04.json 04.safetensors 06.json 06.safetensors 09.json 09.safetensors best.json"},
		{7, 6, "04.json 04.safetensors 06.json 06.safetensors best.json"},
		{5, 4, "04.json 04.safetensors best.json"},
		{3, 0, ""},
	} {
		s := threeCheckpoints(t, nil)
		cp, err := s.Rollback(c.to)
		if err == nil {
			err = s.EndRollback()
		}
		if err != nil || c.want > 0 && (cp == nil || cp.Step != c.want) || c.want == 0 && cp != nil {
			t.Errorf("back to %d: %+v, %v", c.to, cp, err)
		}
		got := strings.Fields(names(t, s.Dir))
		slices.Sort(got)
		if strings.Join(got, " ") != c.left {
			t.Errorf("back to %d: %v, want %s", c.to, got, c.left)
		}
		best, err := RestoreBest(s.Dir)
		if c.want == 0 && !errors.Is(err, ErrNotFound) || c.want > 0 && (err != nil || best.Step != cp.BestStep) {
			t.Errorf("back to %d: best %+v, %v", c.to, best, err)
		}
	}
}

// A rollback that ends at whatever act is either not decided or done by the next coordinator, before it writes
// anything.
func TestRollback_KilledAtEveryAct(t *testing.T) {
	killed := errors.New("killed")
	decided := map[bool]int{}
	for n := 1; ; n++ {
		left, what := n, ""
		s := threeCheckpoints(t, disk.Faulty(disk.System(), func(a disk.Act) (int, error) {
			if left--; left > 0 {
				return 0, nil
			}
			if left == 0 {
				what = fmt.Sprint(a.Kind, " ", filepath.Base(a.Path))
			}
			return a.Bytes / 2, killed
		}))
		if _, err := s.Rollback(7); err != nil {
			t.Fatal(err)
		}
		err := s.EndRollback()
		if what == "" {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		cp, _, err := Restore(s.Dir)
		if err != nil || cp.Step != 6 && cp.Step != 9 {
			t.Fatalf("killed at %s: %+v, %v", what, cp, err)
		}
		decided[cp.Step == 6]++
		next := &Store{Dir: s.Dir}
		if err := next.Resume(cp.Step, cp.BestStep); err != nil {
			t.Fatal(err)
		}
		if cp.Step == 6 {
			save(t, next, state(7, 4), false)
			if got := names(t, s.Dir); strings.Contains(got, "09.") || strings.Contains(got, rollbackFile) {
				t.Errorf("killed at %s: left are %s", what, got)
			}
			if best, err := RestoreBest(s.Dir); err != nil || best.Step != 4 {
				t.Errorf("killed at %s: best %+v, %v", what, best, err)
			}
		}
	}
	if decided[true] < 5 || decided[false] < 3 {
		t.Errorf("decided %v", decided)
	}
}

// A rollback on a disk that fails is made up for by the next checkpoint; until then nothing newer is written.
func TestRollback_DiskFails(t *testing.T) {
	broken := true
	s := threeCheckpoints(t, disk.Faulty(disk.System(), func(disk.Act) (int, error) {
		if broken {
			return 0, errors.New("no")
		}
		return 0, nil
	}))
	if _, err := s.Rollback(7); err != nil {
		t.Fatal(err)
	}
	if err := s.EndRollback(); err == nil {
		t.Error("no error")
	}
	if err := s.Write(state(7, 4), false); err == nil {
		t.Error("a checkpoint beside void ones")
	}
	broken = false
	save(t, s, state(7, 4), false)
	if got := names(t, s.Dir); strings.Contains(got, "09.") {
		t.Errorf("left are %s", got)
	}
}

// As long as a rollback is noted and not finished, the best checkpoint is that of the step that the run has gone back
// to, whatever best.json names.
func TestRollback_TheBestOfThen(t *testing.T) {
	for _, c := range []struct{ to, best uint64 }{{7, 4}, {3, 0}, {0, 0}} {
		s := threeCheckpoints(t, nil)
		if _, err := s.Rollback(c.to); err != nil {
			t.Fatal(err)
		}
		if err := s.NoteRollback(); err != nil {
			t.Fatal(err)
		}
		best, err := RestoreBest(s.Dir)
		if c.best == 0 && !errors.Is(err, ErrNotFound) || c.best > 0 && (err != nil || best.Step != c.best) {
			t.Errorf("back to %d: the best is %+v, %v", c.to, best, err)
		}
		list, err := List(s.Dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range list {
			if i.Best != (i.Step == c.best) {
				t.Errorf("back to %d: listed is %+v", c.to, i)
			}
		}
	}
}
