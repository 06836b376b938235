package checkpoint

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A checkpoint is opened as the last, the best, or by its step, and what cannot be opened is told.
func TestOpen_LastBestOrStep(t *testing.T) {
	s := threeCheckpoints(t, nil)
	list, err := List(s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	var steps []uint64
	for _, i := range list {
		steps = append(steps, i.Step)
		if cp, err := read(i.Path); err != nil || cp.ParamsSHA256 != i.ParamsSHA256 || i.Best != (i.Step == 9) || i.Bytes == 0 {
			t.Errorf("got %+v of %+v, %v", i, cp, err)
		}
	}
	if want := []uint64{4, 6, 9}; !slices.Equal(steps, want) {
		t.Errorf("got %v, want %v", steps, want)
	}
	if err := os.Truncate(filepath.Join(s.Dir, stem(9)+dataSuffix), 20); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		which   string
		step    uint64
		skipped int
		err     error
		text    string
	}{
		{"last", 6, 1, nil, ""},
		{"best", 0, 0, ErrCorrupt, bestManifest},
		{"4", 4, 0, nil, ""},
		{"9", 0, 0, ErrCorrupt, stem(9)},
		{"5", 0, 0, ErrNotFound, "of step 5 in " + s.Dir + ", which has those of [4 6 9]"},
		{"newest", 0, 0, nil, `checkpoint "newest": want last, best or the number of a step`},
	} {
		cp, skipped, err := Open(s.Dir, c.which)
		if c.step > 0 && (err != nil || cp.Step != c.step) || len(skipped) != c.skipped {
			t.Errorf("%s: got %+v, %v, %v", c.which, cp, skipped, err)
		}
		if c.step == 0 && (err == nil || c.err != nil && !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.text)) {
			t.Errorf("%s: got %v, want %s", c.which, err, c.text)
		}
	}
}

// Checkpoints that a rollback has made void are not listed, and a manifest that cannot be read is left out.
func TestList_LeavesOut(t *testing.T) {
	s := threeCheckpoints(t, nil)
	if _, err := s.Rollback(6); err != nil {
		t.Fatal(err)
	}
	if err := s.NoteRollback(); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(s.Dir, stem(4)+manifestSuffix), 20); err != nil {
		t.Fatal(err)
	}
	if list, err := List(s.Dir); err != nil || len(list) != 1 || list[0].Step != 6 || list[0].Best {
		t.Errorf("got %+v, %v", list, err)
	}
	if list, err := List(filepath.Join(s.Dir, "none")); err != nil || len(list) > 0 {
		t.Errorf("no folder: got %+v, %v", list, err)
	}
}

func TestCheckpoint_Parameter(t *testing.T) {
	s := &Store{Dir: t.TempDir(), Layout: layout}
	save(t, s, state(3, 0), false)
	cp, _, err := Open(s.Dir, Last)
	if err != nil {
		t.Fatal(err)
	}
	b, values, err := cp.Parameter("a/b")
	if err != nil || !slices.Equal(b.Shape, []int{2}) || b.Offset != 4 || !slices.Equal(values, []float32{3.5, 3.625}) {
		t.Errorf("got %v of %+v, %v", values, b, err)
	}
	if _, _, err := cp.Parameter("adam.m"); !errors.Is(err, ErrParameter) || !strings.Contains(err.Error(), `"adam.m" in `+cp.Path) {
		t.Errorf("got %v", err)
	}
	if got, want := Hash([]float32{1}), "e00e5eb9444182f352323374ef4e08ebcb784725fdd4fd612d7730540b3e0c8c"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A layout that does not describe the parameters is told, and no checkpoint is written with it.
func TestCheckLayout_Refuses(t *testing.T) {
	for want, bad := range map[string][]Tensor{
		"tensor b: 2 elements at 5": {{Name: "a", Shape: []int{4}, Size: 4}, {Name: "b", Shape: []int{2}, Offset: 5, Size: 2}},
		"tensor a: 6 elements at 0": {{Name: "a", Shape: []int{2, 2}, Size: 6}},
		"covers 4 of 6":             {{Name: "a", Shape: []int{4}, Size: 4}},
		"tensor a: the name is":     {{Name: "a", Shape: []int{4}, Size: 4}, {Name: "a", Shape: []int{2}, Offset: 4, Size: 2}},
		"adam.v: the name is taken": {{Name: "adam.v", Shape: []int{6}, Size: 6}},
		`"\xff" cannot be the name`: {{Name: "\xff", Shape: []int{6}, Size: 6}},
	} {
		s := &Store{Dir: t.TempDir(), Layout: bad}
		for _, err := range []error{CheckLayout(bad, 6), s.Write(state(1, 0), false)} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
		}
		if _, _, err := Open(s.Dir, Last); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: got %v", want, err)
		}
	}
	if err := errors.Join(CheckLayout(layout, 6), CheckLayout(nil, 6)); err != nil {
		t.Error(err)
	}
}
