package checkpoint

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// testdata/before holds run folders that an older program left when it was killed: with Adam (format 2), and with
// gradients as integers and with local steps (format 3).
var before = []string{"float32", "int16", "diloco"}

// An older checkpoint that is read and written again has the bytes that it had, data and manifest.
func TestStore_WritesTheBytesOfBefore(t *testing.T) {
	for _, run := range before {
		dir := filepath.Join("testdata", "before", run, "checkpoints")
		list, err := List(dir)
		if err != nil || len(list) == 0 {
			t.Fatalf("%s: %v, %v", run, list, err)
		}
		for _, info := range list {
			cp, err := read(info.Path)
			if err != nil {
				t.Fatal(err)
			}
			s := &Store{Dir: t.TempDir(), Layout: cp.Layout, Identity: cp.Identity, Data: cp.Data}
			if err := s.Write(cp, false); err != nil {
				t.Fatal(err)
			}
			for _, suffix := range []string{manifestSuffix, dataSuffix} {
				got, err := os.ReadFile(filepath.Join(s.Dir, stem(info.Step)+suffix))
				if err != nil {
					t.Fatal(err)
				}
				want, err := os.ReadFile(filepath.Join(dir, stem(info.Step)+suffix))
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(got, want) {
					t.Errorf("%s, step %d: %s has other bytes", run, info.Step, suffix)
				}
			}
		}
	}
}

// What is read of an older checkpoint is what the program wrote.
func TestOpen_OfBefore(t *testing.T) {
	for _, c := range []struct {
		run     string
		step    uint64
		moments []string
		levels  int
	}{
		{"float32", 20, []string{"adam.m", "adam.v"}, 0},
		{"int16", 10, []string{"adam.m", "adam.v"}, 41},
		{"diloco", 50, []string{"outer.velocity"}, 0},
	} {
		cp, skipped, err := Open(filepath.Join("testdata", "before", c.run, "checkpoints"), Last)
		if err != nil || len(skipped) > 0 {
			t.Fatal(err, skipped)
		}
		if cp.Run != c.run || cp.Step != c.step || !slices.Equal(cp.MomentNames(), c.moments) || len(cp.Levels) != c.levels || len(cp.Theta) != 192 || len(cp.Identity) != 64 {
			t.Errorf("got %+v, want %+v", cp, c)
		}
		if err := CheckLayout(cp.Layout, len(cp.Theta)); err != nil {
			t.Error(err)
		}
		weights, values, err := cp.Parameter("initial.dense.weight")
		if err != nil || !slices.Equal(weights.Shape, []int{9, 2}) || !slices.Equal(values, cp.Theta[:18]) {
			t.Errorf("%d values of %+v, %v", len(values), weights, err)
		}
	}
}
