package files

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/envs/fhn"
	"github.com/switchyard-ml/switchyard/envs/files/array"
	"github.com/switchyard-ml/switchyard/rng"
)

// write puts files into a new folder and returns the folder.
func write(t testing.TB, contents map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range contents {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func mustRead(t testing.TB, o Options, paths ...string) *Dataset {
	t.Helper()
	d, err := Read(paths, o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func readText1(t testing.TB, text string) *Dataset {
	t.Helper()
	return mustRead(t, Options{}, filepath.Join(write(t, map[string]string{"a.csv": text}), "a.csv"))
}

// array is an array of float32 for an archive.
type named struct {
	name  string
	shape []int
	data  any // []float32, []float64 or []string, or a string with all of the array; nil for an array without values
}

func npz(t testing.TB, list ...named) string {
	t.Helper()
	var b bytes.Buffer
	w := array.NewArchiveWriter(&b)
	for _, a := range list {
		out, err := w.Array(a.name)
		if err != nil {
			t.Fatal(err)
		}
		switch data := a.data.(type) {
		case string:
			_, err = io.WriteString(out, data)
		case []string:
			err = array.WriteStrings(out, data)
		default:
			kind := array.Float32
			if _, double := data.([]float64); double {
				kind = array.Float64
			}
			err = array.WriteHeader(out, kind, a.shape)
			if err == nil && data != nil {
				err = binary.Write(out, binary.LittleEndian, data)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func equal[T comparable](t *testing.T, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

var nan = float32(math.NaN())

func TestCSV_ColumnsByName(t *testing.T) {
	d := readText1(t, "\ufeff# pendulum\nepisode,t,y_angle,y_rate,u_torque,temperature,z\n"+
		"a,0,1,2,9,20,0\na,0.5,,3,-1,20,0\na,1,2,na,4,20,1\nb,7,5,6,0,20,1\nb,7.5,7,8,1,20,1\n")
	if len(d.Episodes) != 2 || d.Spec.Observation != 2 || d.Spec.Control != 1 || d.Spec.DT != 0.5 {
		t.Fatalf("got %d episodes, spec %+v", len(d.Episodes), d.Spec)
	}
	e := d.Episodes[0]
	equal(t, "observations", e.Observations, []float32{1, 2, 0, 3, 2, 0})
	equal(t, "mask", e.Mask, []float32{1, 1, 0, 1, 1, 0})
	equal(t, "controls", e.Controls, []float32{0, -1, 4})
	equal(t, "modes", e.Modes, []int32{0, 0, 1})
	equal(t, "names", d.ObservationNames, []string{"angle", "rate"})
	equal(t, "notes", d.Notes, []string{"column temperature is not used"})
	if d.Episodes[1].Mask != nil || d.Episodes[1].Source != "episode b (lines 6 to 7)" {
		t.Errorf("second episode: mask %v, source %q", d.Episodes[1].Mask, d.Episodes[1].Source)
	}
}

func TestCSV_Separators(t *testing.T) {
	want := readText1(t, "y1,y2\n1,2\n3,\n")
	dir := write(t, map[string]string{"a.tsv": "y1\ty2\n1\t2\n3\t\n", "b.csv": "y1;y2\n1;2\n3;\n", "c.csv.gz": gz(t, "y1,y2\r\n1,2\r\n3,\r\n")})
	for _, name := range []string{"a.tsv", "b.csv", "c.csv.gz"} {
		if got := mustRead(t, Options{}, filepath.Join(dir, name)); !reflect.DeepEqual(got.Episodes, want.Episodes) {
			t.Errorf("%s: got %+v, want %+v", name, got.Episodes, want.Episodes)
		}
	}
}

func gz(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Numbered columns in another order are kept apart by their names.
func TestChannelNames(t *testing.T) {
	for _, c := range []struct{ columns, want []string }{
		{[]string{"y"}, nil},
		{[]string{"y1", "y2", "y3"}, nil},
		{[]string{"y0", "y1"}, nil},
		{[]string{"y_1", "y_2"}, nil},
		{[]string{"y2", "y1"}, []string{"y2", "y1"}},
		{[]string{"y1", "y3"}, []string{"y1", "y3"}},
		{[]string{"y_a", "y_b"}, []string{"a", "b"}},
		{[]string{"y_a", "y.a"}, []string{"a", "y.a"}},
	} {
		if got := channelNames(c.columns); !slices.Equal(got, c.want) {
			t.Errorf("channelNames(%v) = %v, want %v", c.columns, got, c.want)
		}
	}
}

func TestControls_OneRowLessOrAfter(t *testing.T) {
	y := named{"y", []int{1, 3, 1}, []float32{1, 2, 3}}
	dir := write(t, map[string]string{
		"less.npz":  npz(t, y, named{"u", []int{1, 2, 1}, []float32{7, 8}}),
		"after.npz": npz(t, y, named{"u", []int{1, 3, 1}, []float32{7, 8, nan}}),
		"after.csv": "y,u\n1,7\n2,8\n3,\n",
	})
	for name, o := range map[string]Options{"less.npz": {}, "after.npz": {ControlsAfter: true}, "after.csv": {ControlsAfter: true}} {
		d := mustRead(t, o, filepath.Join(dir, name))
		equal(t, name, d.Episodes[0].Controls, []float32{0, 7, 8})
	}
}

func TestNPZ_LengthMaskAndParts(t *testing.T) {
	path := filepath.Join(write(t, map[string]string{"a.npz": npz(t,
		named{"obs", []int{2, 3, 2}, []float32{1, 2, 3, nan, 5, 6, 7, 8, 9, 10, nan, nan}},
		named{"mask", []int{2, 3}, []float32{1, 1, 0, 1, 1, nan}},
		named{"z", []int{2, 3}, []float32{0, 1, 1, 1, 0, nan}},
		named{"length", []int{2}, []float32{3, 2}},
		named{"split", []int{2}, []float32{2, 0}},
		named{"reward", []int{2, 3}, make([]float32, 6)},
	)}), "a.npz")
	d := mustRead(t, Options{Rename: map[string]string{"obs": "y"}}, path)
	equal(t, "mask", d.Episodes[0].Mask, []float32{1, 1, 1, 0, 0, 0})
	equal(t, "observations", d.Episodes[0].Observations, []float32{1, 2, 3, 0, 0, 0})
	if e := d.Episodes[1]; e.T != 2 || e.Mask != nil || len(e.Observations) != 4 || len(e.Modes) != 2 {
		t.Errorf("padding was read: %+v", e)
	}
	equal(t, "notes", d.Notes, []string{"array reward [2 3] is not used"})
	s, err := d.Split(1, usual)
	if err != nil || !reflect.DeepEqual(s, Split{Training: []int{1}, Test: []int{0}}) {
		t.Errorf("Split = %+v, %v, want that of the file", s, err)
	}
}

// TestNPZ_PartsByName: an array of text names parts as a column of a table does.
func TestNPZ_PartsByName(t *testing.T) {
	d := mustRead(t, Options{}, filepath.Join(write(t, map[string]string{"a.npz": npz(t, named{"y", []int{3, 2, 1}, make([]float32, 6)},
		named{"split", nil, []string{"train", "test", "validation"}})}), "a.npz"))
	if d.Episodes[0].Part != Training || d.Episodes[1].Part != Test || d.Episodes[2].Part != Validation {
		t.Errorf("parts %v, %v and %v", d.Episodes[0].Part, d.Episodes[1].Part, d.Episodes[2].Part)
	}
}

func TestImages(t *testing.T) {
	var b bytes.Buffer
	w := array.NewArchiveWriter(&b)
	out, _ := w.Array("images")
	array.WriteHeader(out, array.Uint8, []int{1, 2, 1, 2})
	out.Write([]byte{0, 255, 51, 102})
	w.Close()
	d := mustRead(t, Options{}, filepath.Join(write(t, map[string]string{"a.npz": b.String()}), "a.npz"))
	equal(t, "pixels", d.Episodes[0].Observations, []float32{0, 1, 0.2, 0.4})
	if d.Image != [3]int{1, 2, 1} || d.Spec.Observation != 2 {
		t.Errorf("image %v, spec %+v", d.Image, d.Spec)
	}
}

// TestImages_ChannelsFirst: images of one row of pixels with many channels have their channels first, as is said.
func TestImages_ChannelsFirst(t *testing.T) {
	for _, c := range []struct {
		shape []int
		said  bool
	}{{[]int{2, 3, 1, 4, 8}, true}, {[]int{2, 3, 3, 8, 8}, true}, {[]int{2, 3, 8, 8, 3}, false}, {[]int{2, 3, 8, 8}, false}} {
		var b bytes.Buffer
		w := array.NewArchiveWriter(&b)
		out, _ := w.Array("images")
		array.WriteHeader(out, array.Uint8, c.shape)
		size := 1
		for _, n := range c.shape {
			size *= n
		}
		out.Write(bytes.Repeat([]byte{0, 255}, size/2))
		w.Close()
		d := mustRead(t, Options{}, filepath.Join(write(t, map[string]string{"a.npz": b.String()}), "a.npz"))
		if said := strings.Contains(strings.Join(d.Notes, "\n"), "if their channels come first, save them as [N,T,H,W,C]"); said != c.said {
			t.Errorf("%v: notes %q", c.shape, d.Notes)
		}
	}
}

func TestRead_FoldersGlobsAndParts(t *testing.T) {
	dir := write(t, map[string]string{
		"run10.csv": "y\n10\n10\n", "run2.csv": "y\n2\n2\n", "run1.csv": "y\n1\n1\n", "notes.txt": "no data",
		"split/train/a.csv": "y\n1\n1\n", "split/test/b.csv": "y\n2\n2\n", "split/other/c.csv": "y\n3\n3\n",
	})
	for _, paths := range [][]string{{dir}, {filepath.Join(dir, "*.csv")}, {filepath.Join(dir, "run1.csv"), filepath.Join(dir, "run*.csv")}} {
		d := mustRead(t, Options{}, paths...)
		var first []float32
		for _, e := range d.Episodes {
			first = append(first, e.Observations[0])
		}
		equal(t, paths[0], first, []float32{1, 2, 10})
	}
	d := mustRead(t, Options{}, filepath.Join(dir, "split"))
	if len(d.Episodes) != 2 || d.Episodes[0].Part != Training || d.Episodes[1].Part != Test {
		t.Errorf("parts of folders: %+v", d.Episodes)
	}
	for _, path := range []string{filepath.Join(dir, "missing.csv"), filepath.Join(dir, "missing*.csv")} {
		if _, err := Read([]string{path}, Options{}); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "missing") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestCut(t *testing.T) {
	dir := write(t, map[string]string{"a.csv": "y,u,z\n0,0,0\n1,1,1\n2,2,2\n3,3,3\n4,4,4\n,5,5\n6,6,6\n"})
	d := mustRead(t, Options{Cut: 3}, filepath.Join(dir, "a.csv"))
	if len(d.Episodes) != 2 {
		t.Fatalf("got %d pieces, want 2: the last step alone is none", len(d.Episodes))
	}
	equal(t, "observations", d.Episodes[1].Observations, []float32{3, 4, 0})
	equal(t, "mask", d.Episodes[1].Mask, []float32{1, 1, 0})
	equal(t, "controls", d.Episodes[1].Controls, []float32{0, 4, 5})
	equal(t, "modes", d.Episodes[1].Modes, []int32{3, 4, 5})
}

// A data set of every kind of content is the same after each format and after the canonical encoding.
func TestFormats_KeepTheContent(t *testing.T) {
	env, err := fhn.New(fhn.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	d, err := Generate(env, rng.New(3, rng.Episode), 4, 30)
	if err != nil {
		t.Fatal(err)
	}
	source := d.Episodes[1].Source
	d.Episodes[1] = d.Episodes[1].slice(d.Spec, 0, 17)
	d.Episodes[1].Source = source
	d.Episodes[2].Observations[5] = nan
	for i := range d.Episodes {
		d.Episodes[i].Modes = slices.Repeat([]int32{int32(i)}, d.Episodes[i].T)
		d.Episodes[i].Part = Part(i % 3)
	}
	d.ObservationNames, d.ControlNames, d.StateNames = []string{"v", "w µV"}, []string{"current"}, []string{"v", "w"}
	if err := d.check(); err != nil {
		t.Fatal(err)
	}
	want := hash(t, d)
	var archive, table bytes.Buffer
	if err := errors.Join(d.WriteNPZ(&archive), d.WriteCSV(&table)); err != nil {
		t.Fatal(err)
	}
	dir := write(t, map[string]string{"a.npz": archive.String(), "a.csv": table.String()})
	for i := range d.Episodes {
		var b bytes.Buffer
		if err := d.EpisodeCSV()(&b, i); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(dir, "folder", itoa(i)+".csv")
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, b.Bytes(), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a.npz", "a.csv", "folder"} {
		if got := hash(t, mustRead(t, Options{}, filepath.Join(dir, name))); got != want {
			t.Errorf("%s: hash %s, want %s", name, got, want)
		}
	}
	encoded, err := d.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := Decode(encoded)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(decoded, d) {
		t.Errorf("decoded %+v\nwant %+v", decoded, d)
	}
}

func TestHash_Golden(t *testing.T) {
	const want = "cba5c76720025d84c3afcadc4e9b1b9fb5ef9d0bcde9fd22150839f044a68174"
	if got := hash(t, readText1(t, "t,y_a,y_b,u,z\n0,1,2,0,0\n0.1,,3,-1,1\n")); got != want {
		t.Errorf("hash %s, want %s: the encoding changed; raise its version", got, want)
	}
}

func hash(t testing.TB, d *Dataset) string {
	t.Helper()
	h, err := d.Hash()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestDecode_CutOffAnywhere(t *testing.T) {
	data, err := readText1(t, "y,u,z\n1,2,0\n,3,1\n").Bytes()
	if err != nil {
		t.Fatal(err)
	}
	for n := range data {
		if _, err := Decode(data[:n]); !errors.Is(err, ErrData) {
			t.Fatalf("%d of %d bytes: err = %v", n, len(data), err)
		}
	}
	if _, err := Decode(append(data, 0)); !errors.Is(err, ErrData) {
		t.Errorf("a byte more: err = %v", err)
	}
}

func TestRead_RenamesWhatIsThere(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a.csv"), filepath.Join(dir, "b.csv")
	for path, text := range map[string]string{a: "t,y,speed\n0,1,2\n1,2,3\n", b: "t,y,velocity\n0,1,2\n1,2,3\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, err := Read([]string{a}, Options{Rename: map[string]string{"nope": "u", "speed": "y2"}})
	if want := "--rename nope: there is no such column; there are t, y, speed"; !errors.Is(err, ErrData) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	d := mustRead(t, Options{Rename: map[string]string{"velocity": "u", "speed": "u"}}, a, b)
	if d.Spec.Control != 1 || len(d.Episodes) != 2 {
		t.Errorf("names that one file has each: %+v", d.Spec)
	}
}

// TestRead_MATLABTexts: names of channels, and dates, are texts of MATLAB; a mask that is sparse is refused as such.
func TestRead_MATLABTexts(t *testing.T) {
	path := filepath.Join("array", "testdata", "scipy_texts.mat")
	if _, err := Read([]string{path}, Options{}); err == nil || !strings.Contains(err.Error(), "of the class sparse") {
		t.Errorf("a sparse mask: %v", err)
	}
	d := mustRead(t, Options{Rename: map[string]string{"mask": "unused"}}, path)
	equal(t, "names", d.ObservationNames, []string{"speed", "größe"})
	if got := d.Episodes[0].Times.Text(3); d.TimeUnit != "day" || got[0] != "2024-01-04" {
		t.Errorf("steps of a %s, and %v follows; notes %q", d.TimeUnit, got, d.Notes)
	}
}
