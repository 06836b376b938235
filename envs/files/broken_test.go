package files

import (
	"archive/zip"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/envs/files/array"
)

var update = flag.Bool("update", false, "rewrite testdata/errors.golden")

// broken are files that cannot be used, each in its own way: what a user may meet, and attacks.
var broken = []struct {
	name    string
	paths   []string // default: every file
	options Options
	files   func(t testing.TB) map[string]string
}{
	{name: "cut off archive", files: one("a.npz", func(t testing.TB) string { s := npz(t, good()...); return s[:len(s)/2] })},
	{name: "array cut off inside the archive", files: one("a.npz", func(t testing.TB) string {
		return rawArchive(t, "y", header("<f4", false, "(2, 3, 1)")+strings.Repeat("\x00", 23))
	})},
	{name: "array with a wrong checksum", files: one("a.npz", func(t testing.TB) string {
		content := header("<f4", false, "(2, 3, 1)") + strings.Repeat("\x00", 24)
		s := rawArchive(t, "y", content, zip.Store)
		at := strings.Index(s, content) + len(content) - 3
		return s[:at] + "\x3f" + s[at+1:]
	})},
	{name: "no archive", files: one("a.npz", text("this is no zip"))},
	{name: "empty archive", files: one("a.npz", func(t testing.TB) string { return npz(t) })},
	{name: "wrong key", files: one("a.npz", func(t testing.TB) string {
		return npz(t, named{"observations", []int{1, 2, 1}, []float32{1, 2}}, named{"actions", []int{1, 2, 1}, []float32{1, 2}})
	})},
	{
		name: "observations in an array that is not there", options: Options{Observe: []string{"y1"}},
		files: one("a.npz", func(t testing.TB) string { return npz(t, good()...) }),
	},
	{name: "unknown keys", files: one("a.npz", func(t testing.TB) string { return npz(t, named{"position", []int{1, 2, 1}, []float32{1, 2}}) })},
	{name: "y and images", files: one("a.npz", func(t testing.TB) string {
		return npz(t, named{"y", []int{1, 2, 1}, []float32{1, 2}}, named{"images", []int{1, 2, 1, 1}, []float32{1, 1}})
	})},
	{name: "the same array twice", files: one("a.npz", func(t testing.TB) string { return npz(t, append(good(), good()...)...) })},
	{name: "renamed onto another", options: Options{Rename: map[string]string{"v": "y"}}, files: one("a.npz", func(t testing.TB) string {
		return npz(t, append(good(), named{"v", []int{1, 2, 1}, []float32{1, 2}})...)
	})},
	{name: "wrong dtype: complex", files: one("a.npz", func(t testing.TB) string { return rawArchive(t, "y", header("<c8", false, "(1, 2, 1)")) })},
	{name: "wrong dtype: objects", files: one("a.npz", func(t testing.TB) string { return rawArchive(t, "y", header("|O", false, "(3,)")) })},
	{name: "wrong dtype: text", files: one("a.npz", func(t testing.TB) string {
		return rawArchive(t, "y", header("<U1", false, "(1, 2, 1)")+strings.Repeat("\x00", 8))
	})},
	{name: "no episodes", files: one("a.npz", func(t testing.TB) string { return npz(t, named{"y", []int{0, 3, 1}, nil}) })},
	{name: "one step", files: one("a.npz", func(t testing.TB) string { return npz(t, named{"y", []int{2, 1, 1}, []float32{1, 2}}) })},
	{name: "infinity", files: one("a.npz", func(t testing.TB) string {
		return npz(t, named{"y", []int{1, 2, 2}, []float32{1, 2, float32(math.Inf(1)), 4}})
	})},
	{name: "every value missing", files: one("a.npz", func(t testing.TB) string { return npz(t, named{"y", []int{1, 2, 1}, []float32{nan, nan}}) })},
	{name: "NaN in a control", files: one("a.npz", func(t testing.TB) string {
		return npz(t, named{"y", []int{2, 2, 1}, make([]float32, 4)}, named{"u", []int{2, 2, 1}, []float32{0, 1, nan, nan}})
	})},
	{name: "controls of another length", files: one("a.npz", func(t testing.TB) string {
		return npz(t, named{"y", []int{1, 4, 1}, make([]float32, 4)}, named{"u", []int{1, 2, 1}, []float32{0, 1}})
	})},
	{name: "controls of fewer episodes", files: one("a.npz", func(t testing.TB) string {
		return npz(t, named{"y", []int{2, 2, 1}, make([]float32, 4)}, named{"u", []int{1, 2, 1}, []float32{0, 1}})
	})},
	{name: "mask of halves", files: one("a.npz", func(t testing.TB) string {
		return npz(t, named{"y", []int{1, 2, 1}, make([]float32, 2)}, named{"mask", []int{1, 2}, []float32{0.5, 1}})
	})},
	{name: "mask of another width", files: one("a.npz", func(t testing.TB) string {
		return npz(t, named{"y", []int{1, 2, 3}, make([]float32, 6)}, named{"mask", []int{1, 2, 2}, make([]float32, 4)})
	})},
	{name: "length beyond the array", files: one("a.npz", func(t testing.TB) string {
		return npz(t, append(good(), named{"length", []int{2}, []float32{3, 4}})...)
	})},
	{name: "length for too few episodes", files: one("a.npz", func(t testing.TB) string {
		return npz(t, append(good(), named{"length", []int{1}, []float32{3}})...)
	})},
	{name: "episodes of other steps", files: one("a.npz", func(t testing.TB) string {
		return npz(t, named{"y", []int{2, 3, 1}, make([]float32, 6)}, named{"t", []int{2, 3}, []float32{0, 1, 2, 0, 3, 6}})
	})},
	{name: "modes that are no whole numbers", files: one("a.npz", func(t testing.TB) string {
		return npz(t, named{"y", []int{1, 2, 1}, make([]float32, 2)}, named{"z", []int{1, 2}, []float32{0, 0.5}})
	})},
	{name: "parts that there are not", files: one("a.npz", func(t testing.TB) string {
		return npz(t, append(good(), named{"split", []int{2}, []float32{0, 3}})...)
	})},
	{name: "parts for too few episodes", files: one("a.npz", func(t testing.TB) string {
		return npz(t, append(good(), named{"split", nil, []string{"train"}})...)
	})},
	{name: "parts that are objects", files: one("a.npz", func(t testing.TB) string {
		return npz(t, append(good(), named{"split", nil, header("|O", false, "(2,)")})...)
	})},
	{name: "dt of zero", files: one("a.npz", func(t testing.TB) string { return npz(t, append(good(), named{"dt", nil, []float32{0}})...) })},
	{name: "images beyond [0,1]", files: one("a.npz", func(t testing.TB) string {
		return npz(t, named{"images", []int{1, 2, 1, 2}, []float32{0, 1, 0, 3}})
	})},
	{name: "zip bomb", options: Options{Limit: 1 << 20}, files: one("a.npz", func(t testing.TB) string {
		return rawArchive(t, "y", header("<f4", false, "(1, 1048576, 1)")+strings.Repeat("\x00", 4<<20))
	})},
	{name: "absurd header", files: one("a.npz", func(t testing.TB) string {
		return rawArchive(t, "y", header("<f8", false, "(1099511627776, 1099511627776, 1)"))
	})},
	{name: "large header without data", options: Options{Limit: 1 << 50}, files: one("a.npz", func(t testing.TB) string {
		return rawArchive(t, "y", header("<f4", false, "(1000, 1000000, 1)"))
	})},

	{name: "CSV with a line too long", files: one("a.csv", text("t,y,u\n0,1,2\n1,1,2,3\n"))},
	{name: "CSV with a bad number", files: one("a.csv", text("t,y,u\n0,1,2\n1,1.2.3,2\n"))},
	{name: "CSV with two decimal signs", files: one("a.csv", text("t;y;u\n0;1.5;2\n1;1,5;2\n"))},
	{name: "CSV with a comma in a number", files: one("a.csv", text("t,y\n0,1\n1,\"1,5\"\n"))},
	{name: "CSV with an open quote", files: one("a.csv", text("y,u\n1,\"2\n"))},
	{name: "CSV without observations", files: one("a.csv", text("time,speed,force\n0,1,2\n"))},
	{name: "CSV without a header", files: one("a.csv", text("0,1,2\n1,2,3\n"))},
	{name: "CSV of a header", files: one("a.csv", text("y,u\n"))},
	{name: "CSV, empty", files: one("a.csv", text(""))},
	{name: "CSV in UTF-16", files: one("a.csv", text("\xff\xfey\x00\n\x001\x00"))},
	{name: "CSV with controls that are never there", files: one("a.csv", text("y,u\n1,\n2,\n3,\n"))},
	{name: "CSV with a value beyond float32", files: one("a.csv", text("y\n1\n1e300\n"))},
	{name: "CSV with time standing still", files: one("a.csv", text("t,y\n0,1\n1,2\n1,3\n"))},
	{name: "CSV with uneven steps", files: one("a.csv", text("t,y\n0,1\n1,2\n2.4,3\n3,4\n4,4\n"))},
	{name: "CSV with uneven days", files: one("a.csv", text("t,y\n2024-01-01,1\n2024-01-02,2\n2024-01-03 07:00,3\n2024-01-04,3\n"))},
	{name: "CSV with times far apart", files: one("a.csv", text("t,y\n0,1\n1,2\n2,3\n50000,4\n"))},
	{name: "CSV with times that go back", files: one("a.csv", text("t,y\n0,1\n1,2\n0,3\n1,4\n"))},
	{name: "CSV with ambiguous dates", files: one("a.csv", text("t,y\n01/02/2024,1\n01/03/2024,2\n"))},
	{name: "CSV without a time in a row", files: one("a.csv", text("t,y\n0,1\n,2\n"))},
	{name: "CSV with a label of two", files: one("a.csv", text("y,label\n0,1\n1,2\n"))},
	{name: "npz with a label of two", files: one("a.npz", func(t testing.TB) string {
		return npz(t, named{"y", []int{1, 2, 1}, make([]float32, 2)}, named{"labels", []int{1, 2, 1}, []float32{1, 2}})
	})},
	{name: "CSV with a line of 5 MB", files: one("a.csv", text("y,"+strings.Repeat("x", 5<<20)+"\n1,2\n"))},
	{name: "CSV with too many columns", files: one("a.csv", text("y"+strings.Repeat(",x", 1<<16)+"\n"))},
	{name: "a heading that a shell needs in quotation marks", files: one("a.csv", text("speed [m/s],torque\n1,2\n2,3\n"))},
	{name: "no logarithm, and such a heading", options: Options{Observe: []string{"speed [m/s]"}, Transform: "log"}, files: one("a.csv", text("speed [m/s]\n1\n-1\n"))},
	{name: "a recording of one row", files: one("a.csv", text("y\n1\n"))},
	{name: "a name with escape sequences", files: one("a.csv", text("\x1b[31mred\x1b[0m,\u202eevil\n1,2\n"))},
	{name: "a transform that there is not", options: Options{Transform: "square"}, files: one("a.csv", text("y\n1\n2\n"))},
	{name: "a logarithm of zero", options: Options{Transform: "log"}, files: one("a.csv", text("y_a,y_b\n1,1\n2,0\n"))},
	{name: "a transform of a channel that there is not", options: Options{Transform: "speed=log"}, files: one("a.csv", text("y\n1\n2\n"))},
	{name: "differences of nothing", options: Options{Transform: "diff5"}, files: one("a.csv", text("y\n1\n2\n"))},
	{name: "a step of a grid that there is not", options: Options{Time: "d", Resample: "1x"}, files: one("a.csv", text("d,y\n2024-01-01,1\n2024-01-02,2\n"))},
	{name: "resampling without times", options: Options{Resample: "1"}, files: one("a.csv", text("y\n1\n2\n"))},
	{name: "a column of two meanings", options: Options{Observe: []string{"v"}, Control: []string{"v"}}, files: one("a.csv", text("v\n1\n2\n"))},
	{name: "a column that is not there", options: Options{Observe: []string{"v", "w"}}, files: one("a.csv", text("v\n1\n2\n"))},
	{name: "CSV with episodes mixed", files: one("a.csv", text("episode,y\n1,1\n1,2\n2,3\n2,4\n1,5\n"))},
	{name: "CSV with a column twice", files: one("a.csv", text("y,y\n1,2\n"))},
	{name: "CSV that is no gzip", files: one("a.csv.gz", text("y\n1\n"))},
	{name: "CSV, gzip cut off", files: one("a.csv.gz", func(t testing.TB) string { s := gz(t, "y\n"+strings.Repeat("1.5\n", 1000)); return s[:len(s)-9] })},
	{name: "CSV, gzip bomb", options: Options{Limit: 1000}, files: one("a.csv.gz", func(t testing.TB) string { return gz(t, "y\n"+strings.Repeat("1\n", 1000)) })},
	{name: "split within an episode", files: one("a.csv", text("y,split\n1,train\n2,test\n"))},

	{name: "two files of different width", files: func(testing.TB) map[string]string {
		return map[string]string{"a.csv": "y1,y2\n1,2\n1,2\n", "b.csv": "y1\n1\n1\n"}
	}},
	{name: "two files with columns in another order", files: func(testing.TB) map[string]string {
		return map[string]string{"a.csv": "y_v,y_w\n1,2\n1,2\n", "b.csv": "y_w,y_v\n1,2\n1,2\n"}
	}},
	{name: "two files with another dt", files: func(testing.TB) map[string]string {
		return map[string]string{"a.csv": "t,y\n0,1\n1,2\n", "b.csv": "t,y\n0,1\n2,2\n"}
	}},
	{name: "two files with dt in other units", paths: []string{"a.csv", "b.csv"}, files: func(testing.TB) map[string]string {
		return map[string]string{"a.csv": "t,y\n2024-01-01,1\n2024-01-02,2\n", "b.csv": "t,y\n2024-01-01 00:00,1\n2024-01-01 01:00,2\n"}
	}},
	{name: "folder without data", paths: []string{"."}, files: one("readme.txt", text("nothing"))},
	{name: "unknown ending", files: one("a.pkl", text("pickle"))},
	{name: "HDF5", files: one("main_data.hdf5", text("\x89HDF"))},

	{name: "MATLAB 7.3", files: one("a.mat", text("MATLAB 7.3 MAT-file"+strings.Repeat(" ", 105)+"\x00\x02IM"))},
	{name: "MATLAB file cut off", files: one("a.mat", matFile("scipy_v7.mat", 0.4))},
	{name: "MATLAB file without y", files: one("a.mat", text("MATLAB 5.0 MAT-file"+strings.Repeat(" ", 105)+"\x00\x01IM"))},
	{name: "MATLAB struct as observations", options: Options{Rename: map[string]string{"y": "v", "s": "y"}}, files: one("a.mat", matFile("scipy_v7.mat", 1))},
	{name: "MATLAB cells of different width", options: Options{Rename: map[string]string{"y": "v", "w": "y"}}, files: one("a.mat", matFile("scipy_widths.mat", 1))},
}

func good() []named { return []named{{"y", []int{2, 3, 1}, []float32{1, 2, 3, 4, 5, 6}}} }

func one(name string, content func(testing.TB) string) func(testing.TB) map[string]string {
	return func(t testing.TB) map[string]string { return map[string]string{name: content(t)} }
}

func text(s string) func(testing.TB) string { return func(testing.TB) string { return s } }

// matFile is the first part of a file of the package mat.
func matFile(name string, part float64) func(testing.TB) string {
	return func(t testing.TB) string {
		data, err := os.ReadFile("array/testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(data[:int(part*float64(len(data)))])
	}
}

func header(descr string, columnMajor bool, shape string) string {
	order := "False"
	if columnMajor {
		order = "True"
	}
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }\n", descr, order, shape)
	return "\x93NUMPY\x01\x00" + string(rune(len(text))) + "\x00" + text
}

// rawArchive is an archive with one array of any bytes.
func rawArchive(t testing.TB, name, content string, method ...uint16) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	out, err := w.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: append(method, zip.Deflate)[0]})
	if err == nil {
		_, err = out.Write([]byte(content))
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Each broken file gives one error that names the file and says what is wrong and what to do. The
// texts are kept: read the difference before updating them.
func TestBroken_Golden(t *testing.T) {
	var got strings.Builder
	for _, c := range broken {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(write(t, c.files(t)))
			paths := c.paths
			if paths == nil {
				var err error
				if paths, err = filepath.Glob("*"); err != nil {
					t.Fatal(err)
				}
			}
			d, err := Read(paths, c.options)
			if err == nil {
				t.Fatalf("it was read: %+v", d)
			}
			var e *Error
			if !errors.Is(err, ErrData) || !errors.As(err, &e) || e.File == "" && !strings.HasPrefix(e.Place, "--") || e.Problem == "" {
				t.Errorf("%v is no *Error that names a file", err)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("not one line: %v", err)
			}
			fmt.Fprintf(&got, "%s\n    %s\n", c.name, err)
		})
	}
	compareGolden(t, "testdata/errors.golden", got.String())
}

func compareGolden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("errors differ from %s (-update rewrites it):\n%s", path, got)
	}
}

// What is unusual and still right is read right.
func TestRead_FortranAndBigEndian(t *testing.T) {
	dir := write(t, map[string]string{
		"fortran.npz": rawArchive(t, "y", header("|u1", true, "(2, 2, 1)")+"\x01\x03\x02\x04"),
		"big.npz":     rawArchive(t, "y", header(">i2", false, "(2, 2, 1)")+"\x00\x01\x00\x02\x00\x03\x00\x04"),
	})
	for _, name := range []string{"fortran.npz", "big.npz"} {
		d := mustRead(t, Options{}, filepath.Join(dir, name))
		equal(t, name, d.Episodes[0].Observations, []float32{1, 2})
		equal(t, name, d.Episodes[1].Observations, []float32{3, 4})
	}
}

func TestRead_NoFile(t *testing.T) {
	if d, err := Read(nil, Options{}); err == nil || !strings.Contains(err.Error(), "no file") {
		t.Errorf("got %v, %v", d, err)
	}
}

// TestRead_LimitOfCells: what cells hold counts for the files that follow.
func TestRead_LimitOfCells(t *testing.T) {
	o := Options{Rename: map[string]string{"y": "v", "c": "y"}}
	path := "array/testdata/scipy_v7.mat"
	d := mustRead(t, o, path)
	size := int64(0)
	for _, e := range d.Episodes {
		size += int64(8 * len(e.Observations))
	}
	left := size + 8
	if _, err := readFile(path, o, &left); err != nil || left != 8 {
		t.Errorf("%d bytes are left of %d, %v", left, size+8, err)
	}
}

func TestRead_MATLAB(t *testing.T) {
	d := mustRead(t, Options{}, "array/testdata/scipy_v7.mat")
	if len(d.Episodes) != 2 || d.Spec.Observation != 3 || d.Episodes[1].Observations[0] != 3 {
		t.Errorf("3-d array: %+v", d)
	}
	d = mustRead(t, Options{Rename: map[string]string{"y": "v", "c": "y"}}, "array/testdata/scipy_v7.mat")
	if len(d.Episodes) != 2 || d.Episodes[0].T != 3 || d.Episodes[1].T != 2 {
		t.Errorf("cell array: %+v", d)
	}
	d = mustRead(t, Options{Rename: map[string]string{"yEst": "y", "uEst": "u"}}, "array/testdata/scipy_record.mat")
	equal(t, "row vector", d.Episodes[0].Observations, []float32{1, 2, 3})
	equal(t, "column vector", d.Episodes[0].Controls, []float32{0, 5, 6})
	equal(t, "modes", d.Episodes[0].Modes, []int32{0, 1, 1})
	if d.Spec.DT != 0.1 {
		t.Errorf("dt = %v", d.Spec.DT)
	}
}

func FuzzNPZ(f *testing.F) {
	f.Add([]byte(npz(f, named{"y", []int{2, 3, 1}, make([]float32, 6)}, named{"u", []int{2, 2, 1}, make([]float32, 4)},
		named{"mask", []int{2, 3}, make([]float32, 6)}, named{"length", []int{2}, []float32{3, 2}}, named{"z", []int{2, 3}, make([]float32, 6)})))
	f.Fuzz(func(t *testing.T, data []byte) {
		left := int64(1 << 20)
		d, err := decodeNPZ(bytes.NewReader(data), int64(len(data)), Options{}, &left)
		examine(t, d, err)
	})
}

func FuzzMAT(f *testing.F) {
	for _, name := range []string{"scipy_v7.mat", "scipy_v6.mat", "scipy_record.mat", "scipy_v4.mat"} {
		f.Add([]byte(matFile(name, 1)(f)), true)
	}
	f.Fuzz(func(t *testing.T, data []byte, cells bool) {
		left := int64(1 << 20)
		o := Options{Rename: map[string]string{"yEst": "y", "uEst": "u"}}
		if cells {
			o.Rename = map[string]string{"y": "v", "c": "y"}
		}
		d, err := decodeMAT(bytes.NewReader(data), o, &left)
		examine(t, d, err)
	})
}

func FuzzCSV(f *testing.F) {
	f.Add("episode,t,y_a,y_b,u,mask,z,split\n1,0,1,2,3,1,0,train\n1,1,,2,3,0,1,train\n", false, 2)
	f.Add("y\tu\n1\t2\n\t3\n", true, 0)
	f.Fuzz(func(t *testing.T, text string, after bool, cut int) {
		left := int64(1 << 20)
		in, err := newCSVRows(strings.NewReader(text), false)
		if err != nil {
			return
		}
		d, err := readTable(in, &left, Options{ControlsAfter: after})
		examine(t, d, err)
		if err == nil && cut > 0 && cut < 100 {
			d.cut(max(cut, minSteps))
		}
	})
}

func FuzzTimes(f *testing.F) {
	f.Add("2024-01-31\n2024-02-29\n", "1mo")
	f.Add("1959Q1\n1959Q3\n", "")
	f.Add("0\n0.1\n0.35\n", "0.1")
	f.Add("2021-03-28T01:00:00+01:00\n2021-03-28T03:00:00+02:00\n", "1d")
	f.Add("2021-03-27 00:00+01:00\n2021-03-28 00:00+01:00\n2021-03-29 00:00+02:00\n", "")
	f.Add("1700000000\n1700001860\n", "15min")
	f.Add("1700000000000000000\n1700000000000000150\n", "1w")
	f.Add("202050\n202051\n202052\n202053\n202101\n202102\n", "")
	f.Fuzz(func(t *testing.T, times, step string) {
		var text strings.Builder
		text.WriteString("t,y,u,z,label\n")
		for i, at := range strings.Split(times, "\n") {
			fmt.Fprintf(&text, "%s,%d,%d,0,1\n", at, i, i)
		}
		in, err := newCSVRows(strings.NewReader(text.String()), false)
		if err != nil {
			return
		}
		left := int64(1 << 20)
		d, err := readTable(in, &left, Options{Resample: step})
		examine(t, d, err)
	})
}

func FuzzTransform(f *testing.F) {
	f.Add("log-diff12", "y\n1\n2\n")
	f.Add("a=diff,b=log", "y_a,y_b\n1,2\n3,4\n")
	f.Fuzz(func(t *testing.T, transform, text string) {
		transforms, err := ParseTransforms(transform)
		in, failed := newCSVRows(strings.NewReader(text), false)
		if err != nil || failed != nil {
			return
		}
		left := int64(1 << 20)
		d, err := readTable(in, &left, Options{})
		if err == nil && d.check() == nil {
			err = d.settle(transforms)
			examine(t, d, err)
		}
	})
}

func FuzzDecode(f *testing.F) {
	data, err := readText1(f, "y,u,z\n1,2,0\n,3,1\n").Bytes()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := Decode(data)
		examine(t, d, err)
	})
}

// examine checks what holds of every data set that was read, and that it can be written.
func examine(t *testing.T, d *Dataset, err error) {
	t.Helper()
	if err == nil {
		err = d.check()
	}
	if err != nil {
		if !errors.Is(err, ErrData) {
			t.Fatalf("%v does not match ErrData", err)
		}
		return
	}
	for i := range d.Episodes {
		e := &d.Episodes[i]
		if len(e.Observations) != e.T*d.Spec.Observation || len(e.Controls) != e.T*d.Spec.Control ||
			len(e.States) != e.T*d.Spec.State || len(e.Labels) != e.T*len(d.Spec.Labels) ||
			e.Mask != nil && len(e.Mask) != len(e.Observations) || e.Modes != nil && len(e.Modes) != e.T {
			t.Fatalf("episode %d of %d steps: %+v for %+v", i, e.T, e, d.Spec)
		}
	}
	if _, err := d.Summarise(); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := d.WriteNPZ(&b); err != nil {
		t.Fatal(err)
	}
	if _, err := array.OpenArchive(bytes.NewReader(b.Bytes()), int64(b.Len())); err != nil {
		t.Fatal(err)
	}
}
