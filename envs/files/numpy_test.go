package files

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// interpreter is a python that has a module; without one the test is skipped.
func interpreter(t *testing.T, module string) string {
	t.Helper()
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(name, "-c", "import "+module).Run() == nil {
			return name
		}
	}
	t.Skipf("no python3 with %s on this machine: what it reads and writes is not compared", module)
	return ""
}

// python runs a script with numpy and returns what it prints.
func python(t *testing.T, script string, args ...string) string {
	t.Helper()
	return run(t, interpreter(t, "numpy"), append([]string{"-c", script}, args...)...)
}

func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	command := exec.Command(name, args...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, stderr.String())
	}
	return string(out)
}

func TestNumpy_WritesWhatWeRead(t *testing.T) {
	dir := t.TempDir()
	python(t, `
import sys, numpy as np
y = (np.arange(24).reshape(2, 4, 3) - 5) / 4
u = np.arange(16).reshape(2, 4, 2)
for name, dtype in dict(f2='<f2', f4='<f4', f8='<f8', big='>f8', bigint='>i4', i8='<i8').items():
    v = y if dtype[1] == 'f' else np.arange(24).reshape(2, 4, 3)
    np.savez_compressed(f'{sys.argv[1]}/{name}.npz', y=v.astype(dtype), u=np.asfortranarray(u), z=u[:, :, 0] > 3,
        length=np.array([4, 3]), dt=0.25, y_names=np.array(['a', 'β', 'long name']))
np.savez(f'{sys.argv[1]}/fortran.npz', y=np.asfortranarray(y), dt=np.float32(0.25))
np.save(f'{sys.argv[1]}/alone.npy', y.astype(np.float32))
`, dir)
	for name, whole := range map[string]bool{
		"f2.npz": false, "f4.npz": false, "f8.npz": false, "big.npz": false, "bigint.npz": true, "i8.npz": true,
		"fortran.npz": false, "alone.npy": false,
	} {
		d := mustRead(t, Options{}, filepath.Join(dir, name))
		for i, e := range d.Episodes {
			for j, v := range e.Observations {
				want := float32(12*i+j-5) / 4
				if whole {
					want = float32(12*i + j)
				}
				if v != want {
					t.Fatalf("%s: y[%d].flat[%d] = %v, want %v", name, i, j, v, want)
				}
			}
		}
		if d.Spec.Control > 0 {
			equal(t, name+" u", d.Episodes[1].Controls, []float32{0, 0, 10, 11, 12, 13})
			equal(t, name+" z", d.Episodes[0].Modes, []int32{0, 0, 1, 1})
			equal(t, name+" names", d.ObservationNames, []string{"a", "β", "long name"})
		}
	}
}

func TestNumpy_ReadsWhatWeWrite(t *testing.T) {
	d := readText1(t, "episode,t,y_a,y_µ,u,state,label_hit,z,split\n0,0,1,2,0,5,1,0,train\n0,0.5,,3,4,6,0,1,train\n0,1,7,8,9,7,0,1,train\n1,0,1,2,0,8,1,0,test\n1,0.5,3,4,5,9,1,0,test\n")
	path := filepath.Join(t.TempDir(), "a.npz")
	var b bytes.Buffer
	if err := d.WriteNPZ(&b); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	out := python(t, `
import sys, numpy as np
a = np.load(sys.argv[1])
for k in sorted(a.files):
    print(k, a[k].dtype, a[k].shape, a[k].tolist())
`, path)
	want := []string{
		"dt float64 () 0.5",
		"label_names <U3 (1,) ['hit']",
		"labels float32 (2, 3, 1) [[[1.0], [0.0], [0.0]], [[1.0], [1.0], [0.0]]]",
		"length int64 (2,) [3, 2]",
		"split int64 (2,) [0, 2]",
		"states float32 (2, 3, 1) [[[5.0], [6.0], [7.0]], [[8.0], [9.0], [0.0]]]",
		"u float32 (2, 3, 1) [[[0.0], [4.0], [9.0]], [[0.0], [5.0], [0.0]]]",
		"y float32 (2, 3, 2) [[[1.0, 2.0], [nan, 3.0], [7.0, 8.0]], [[1.0, 2.0], [3.0, 4.0], [nan, nan]]]",
		"y_names <U1 (2,) ['a', 'µ']",
		"z int64 (2, 3) [[0, 1, 1], [0, 0, 0]]",
	}
	if got := strings.Split(strings.TrimSpace(out), "\n"); !slices.Equal(got, want) {
		t.Errorf("numpy reads\n%s\nwant\n%s", out, strings.Join(want, "\n"))
	}
}

// The converter of HDF5 files is run on both layouts that it knows.
func TestH5ToNPZ(t *testing.T) {
	name := interpreter(t, "h5py, numpy")
	dir := t.TempDir()
	run(t, name, "-c", `
import sys, h5py, numpy as np
with h5py.File(sys.argv[1] + '/minari.hdf5', 'w') as f:
    for i, T in ((0, 2), (10, 1), (9, 3)):
        e = f.create_group(f'episode_{i}')
        e['observations'] = 100.0 * i + np.arange(2 * (T + 1)).reshape(T + 1, 2)
        e['actions'] = np.arange(1, T + 1)
        e['rewards'] = np.zeros(T)
with h5py.File(sys.argv[1] + '/d4rl.hdf5', 'w') as f:
    f['observations'] = np.arange(7.0).reshape(7, 1)
    f['actions'] = 10 + np.arange(7.0).reshape(7, 1)
    f['terminals'] = np.array([0, 0, 1, 0, 0, 0, 0], dtype=bool)
    f['timeouts'] = np.array([0, 0, 0, 1, 0, 0, 0], dtype=bool)
with h5py.File(sys.argv[1] + '/matlab.hdf5', 'w') as f: # 7.3 keeps a matrix [5,2] as [2,5]
    f['y'] = np.arange(10.).reshape(5, 2).T
    f['u'] = np.arange(5.).reshape(1, 5)
with h5py.File(sys.argv[1] + '/cells.hdf5', 'w') as f: # a cell array of 2 rows and 2 columns, counted down the columns
    cells = f.create_dataset('y', (2, 2), dtype=h5py.ref_dtype)
    cells.attrs['MATLAB_class'] = np.bytes_('cell')
    for i in range(4):
        f[f'refs/{i}'] = np.full((1, 3), float(i))
        cells[i // 2, i % 2] = f[f'refs/{i}'].ref
with h5py.File(sys.argv[1] + '/other.hdf5', 'w') as f:
    f['positions'] = np.zeros(3)
`, dir)
	const script = "../../deploy/python/h5_to_npz.py"
	for _, layout := range []string{"minari", "d4rl", "matlab", "cells"} {
		run(t, name, script, filepath.Join(dir, layout+".hdf5"), filepath.Join(dir, layout+".npz"), "--dt", "0.05")
	}
	d := mustRead(t, Options{}, filepath.Join(dir, "minari.npz"))
	if len(d.Episodes) != 3 || d.Spec.DT != 0.05 {
		t.Fatalf("Minari: %+v", d)
	}
	equal(t, "lengths", []int{d.Episodes[0].T, d.Episodes[1].T, d.Episodes[2].T}, []int{3, 4, 2})
	equal(t, "observations", d.Episodes[0].Observations, []float32{0, 1, 2, 3, 4, 5})
	equal(t, "controls", d.Episodes[1].Controls, []float32{0, 1, 2, 3})
	d = mustRead(t, Options{}, filepath.Join(dir, "matlab.npz"))
	equal(t, "MATLAB 7.3", d.Episodes[0].Observations, []float32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9})
	d = mustRead(t, Options{}, filepath.Join(dir, "cells.npz"))
	for i, e := range d.Episodes {
		equal(t, "cells of MATLAB 7.3, down the columns", e.Observations, []float32{float32(i), float32(i), float32(i)})
	}
	d = mustRead(t, Options{}, filepath.Join(dir, "d4rl.npz"))
	if len(d.Episodes) != 2 { // the episode of one step is left out
		t.Fatalf("D4RL: %+v", d)
	}
	equal(t, "first episode", d.Episodes[0].Controls, []float32{0, 10, 11})
	equal(t, "rest", d.Episodes[1].Observations, []float32{4, 5, 6})
	out, err := exec.Command(name, script, filepath.Join(dir, "other.hdf5"), filepath.Join(dir, "x.npz")).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "neither Minari") || !strings.Contains(string(out), "positions") {
		t.Errorf("another layout: %v\n%s", err, out)
	}
}

// TestRead_TimesOfArrays: an array of times, under its own name or another, is read as the column of a table is: uneven
// steps are refused, even ones give the time between two steps and the dates of answers. It is never dropped in silence.
func TestRead_TimesOfArrays(t *testing.T) {
	t.Parallel()
	y := []float64{1, 2, 4, 7, 5, 3}
	for _, test := range []struct {
		name  string // of the array
		times []float64
		o     Options
		want  string // the time that follows, a note, or an error
	}{
		{"t", []float64{10, 10.5, 11, 11.5, 12, 12.5}, Options{}, "13"},
		{"clock", []float64{0, 0.1, 0.2, 0.3, 0.4, 0.5}, Options{Time: "clock"}, "0.6"},
		{"t", []float64{0, 1, 1.7, 3, 4, 5}, Options{}, "step 2: t goes from 1 to 1.7"},
		{"clock", []float64{0, 1, 1.7, 3, 4, 5}, Options{Time: "clock"}, "step 2: t goes from 1 to 1.7"},
		{"t", []float64{0, 1, 2, 4, 5, 6}, Options{}, "step 3: t goes from 2 to 4"},
		{"t", []float64{0, 1, 1.7, 3, 4, 5}, Options{Resample: "0"}, `"0" is no step`},
		{"t", []float64{0, 1, 1.7, 3, 4, 5}, Options{Resample: "1h"}, "the unit of the times is not known"},
		{"t", []float64{0, 1, 0.7, 3, 4, 5}, Options{}, "step 2: t goes from 1 to 0.7; sort the steps"},
		{"t", []float64{0, 1, 0.7, 3, 4, 5}, Options{Time: "t"}, "step 2: t goes from 1 to 0.7; sort the steps"},
		{"t", []float64{0, 1, 0.7, 3, 4, 5}, Options{Resample: "1"}, "step 2: t goes from 1 to 0.7; sort the steps"},
		{"s", []float64{0, 1, 1.7, 3, 4, 5}, Options{Resample: "1"}, "no array holds the times; save an array t"},
		{"t", []float64{0, 1, 1.7, 3, 4, 5}, Options{Time: NoTime}, "array t [6] is not used"},
		{"t", []float64{0, 1, 2}, Options{}, "array t is not used: episode 0 has 6 steps and 3 times"},
		{"t", []float64{0, 1, 2}, Options{Time: "t"}, "episode 0 has 6 steps and 3 times; save a time for each step"},
		{"t", []float64{0, 1, math.NaN(), 3, 4, 5}, Options{Time: "t"}, "the time is NaN"},
	} {
		file := npz(t, named{"y", []int{6, 1}, y},
			named{test.name, []int{len(test.times)}, test.times})
		path := filepath.Join(write(t, map[string]string{"d.npz": file}), "d.npz")
		d, err := Read([]string{path}, test.o)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = fmt.Sprint(d.Episodes[0].Times.Text(6), d.Notes)
		}
		if !strings.Contains(got, test.want) {
			t.Errorf("%s %v: %s, want %s", test.name, test.times, got, test.want)
		}
	}
}

// TestNumpy_ArraysOfDates: numpy's own dates, and dates as text, are times as those of a table are, of one recording or
// of several, and are resampled. Dates that are missing, or in units without a length, are refused.
func TestNumpy_ArraysOfDates(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	python(t, `
import sys, numpy as np
d = np.datetime64("2024-02-27") + np.arange(6)
y = np.arange(6.0)[:, None]
def save(name, **arrays): np.savez(f"{sys.argv[1]}/{name}.npz", **arrays)
save("days", y=y, t=d)
save("nanoseconds", y=y, t=d.astype("M8[ns]"))
save("big", y=y, t=d.astype(">M8[s]"))
save("months", y=y, t=(np.datetime64("2024-01") + np.arange(6)).astype("M8[D]"))
save("text", y=y, t=d.astype(str))
save("hours", y=y, t=np.array([f"2024-02-27T{h:02}:00+01:00" for h in range(6)]))
save("ordered", y=y, t=np.array([f"{d}/02/2024" for d in range(10, 16)]))
save("american", y=y, t=np.array([f"02/{d}/2024" for d in range(10, 16)]))
save("two", y=np.zeros((2, 3, 1)), t=d.reshape(2, 3))
save("missing", y=y, t=np.where(np.arange(6) == 3, np.datetime64("NaT"), d))
save("units", y=y, t=np.datetime64("2024-01") + np.arange(6))
save("gap", y=y, t=np.delete(np.datetime64("2024-02-27") + np.arange(7), 3))
`, dir)
	for name, want := range map[string]string{
		"days": "2024-03-04 1 day", "nanoseconds": "2024-03-04 1 day", "big": "2024-03-04 1 day", "months": "2024-07-01 1 month",
		"text": "2024-03-04 1 day", "hours": "2024-02-27T06:00+01:00 1 h", "ordered": "16/02/2024 1 day", "american": "02/16/2024 1 day", "two": "2024-03-04 1 day",
		"missing": "step 3: the time is missing", "units": "dates in units of M are not read",
		"gap": "t goes from 2024-02-29 to 2024-03-02, where 1 d is usual",
	} {
		got := ""
		if d, err := Read([]string{filepath.Join(dir, name+".npz")}, Options{Time: "t"}); err != nil {
			got = err.Error()
		} else {
			e := d.Episodes[len(d.Episodes)-1]
			got = fmt.Sprint(e.Times.Text(e.T)[0], " ", d.Spec.DT, " ", d.TimeUnit)
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	d := mustRead(t, Options{Resample: "1d"}, filepath.Join(dir, "gap.npz"))
	equal(t, "a day without a row", d.Episodes[0].Mask, []float32{1, 1, 1, 0, 1, 1, 1})
	d = mustRead(t, Options{Resample: "1mo"}, filepath.Join(dir, "days.npz"))
	equal(t, "months", d.Episodes[0].Observations, []float32{1, 4})
}
