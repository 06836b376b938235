package files

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
)

// wholes is the file of an array of whole numbers of 8 bytes.
func wholes(t *testing.T, kind, shape string, values any) string {
	t.Helper()
	var b bytes.Buffer
	if err := binary.Write(&b, binary.LittleEndian, values); err != nil {
		t.Fatal(err)
	}
	return header(kind, false, shape) + b.String()
}

// TestTimes_NanosecondsOfArrays: whole numbers of 8 bytes keep all of their digits as times.
func TestTimes_NanosecondsOfArrays(t *testing.T) {
	t.Parallel()
	const first = 1700000000001000000
	y := named{"y", []int{2, 3, 1}, []float32{1, 2, 3, 4, 5, 6}}
	for kind, values := range map[string]any{
		"<i8": []int64{first, first + 100, first + 200, first + 300, first + 400, first + 500},
		"<u8": []uint64{first, first + 100, first + 200, first + 300, first + 400, first + 500},
	} {
		file := npz(t, y, named{"t", nil, wholes(t, kind, "(2, 3)", values)})
		d := mustRead(t, Options{}, filepath.Join(write(t, map[string]string{"d.npz": file}), "d.npz"))
		if d.Spec.DT != 100 {
			t.Errorf("%s: a step is %v", kind, d.Spec.DT)
		}
		for i, e := range d.Episodes {
			for step := range 5 {
				want := fmt.Sprint(first + 300*i + 100*step)
				if got := e.Times.Text(step); !slices.Equal(got, []string{want}) {
					t.Errorf("%s: step %d of episode %d is at %v, want %s", kind, step, i, got, want)
				}
				if back, err := stepAt(e.Times, want); err != nil || back != step {
					t.Errorf("%s: %s is step %d (%v), want %d", kind, want, back, err, step)
				}
			}
		}
	}
	// Padding is no time, whatever stands there.
	file := npz(t, y, named{"length", []int{2}, []float32{3, 2}}, named{"t", nil, wholes(t, "<i8", "(2, 3)", []int64{0, 1, 2, 5, 6, 1<<63 - 1})})
	d := mustRead(t, Options{}, filepath.Join(write(t, map[string]string{"d.npz": file}), "d.npz"))
	if got := d.Episodes[1].Times.Text(2)[0]; got != "7" || !d.KeepsTimes(true) {
		t.Errorf("7 is written as %s, times are kept: %v", got, d.KeepsTimes(true))
	}
}
