package files

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
)

// Dates of many forms are times: a date that has one meaning decides the order of day and month of its column.
func TestRead_FormsOfDates(t *testing.T) {
	for _, c := range []struct {
		name, times string // separated by ;
		dates       string
		dt          float64
		unit        string
		steps       int
	}{
		{"the day first", "11/01/2021;12/01/2021;13/01/2021;15/01/2021", "", 1, "day", 5},
		{"the month first", "01/11/2021;01/12/2021;01/13/2021;01/15/2021", "", 1, "day", 5},
		{"the day first, as said", "01/01/2021;01/02/2021;01/03/2021", DayFirst, 1, "month", 3},
		{"the month first, as said", "01/01/2021;01/02/2021;01/03/2021", MonthFirst, 1, "day", 3},
		{"am and pm", "13/01/2021 11:00:00 AM;13/01/2021 12:00:00 PM;13/01/2021 01:00:00 PM", "", 1, "h", 3},
		{"short months", "01-Jan-10;01-Feb-10;01-Apr-10", "", 1, "month", 4},
		{"months as numbers", "201009;201010;201011;201012;201101;201102;201103;201104;201106", "", 1, "month", 10},
		{"weeks", "2020-W52;2020-W53;2021-W01;2021-W03", "", 7, "day", 5},
		{"the word UTC", "2010-01-01 00:00:00 UTC;2010-01-01 01:00:00 UTC;2010-01-01 02:00:00 UTC", "", 1, "h", 3},
		{"an offset of zero", "2010-01-01 00:00:00+0000;2010-01-01 01:00:00+0000;2010-01-01 02:00:00+0000", "", 1, "h", 3},
	} {
		rows := strings.ReplaceAll(c.times, ";", ",1\n") + ",2\n"
		d := readAs(t, Options{Observe: []string{"y"}, Time: "when", Dates: c.dates}, "when,y\n"+rows)
		if d.Spec.DT != c.dt || d.TimeUnit != c.unit || d.Steps() != c.steps {
			t.Errorf("%s: %d steps of %v %s, want %d of %v %s", c.name, d.Steps(), d.Spec.DT, d.TimeUnit, c.steps, c.dt, c.unit)
		}
	}
}

// A column of times that cannot be used is found all the same, and reading says why; none leaves it out.
func TestGuess_UnusableTimes(t *testing.T) {
	days := "2021-01-01,1\n2021-01-02,2\n2021-01-03,3\n2021-01-04,4\n2021-01-05,5\n2021-01-06,6\n" +
		"2021-01-07,7\n2021-01-08,8\n2021-01-09,9\n"
	for _, c := range []struct{ name, rows, problem string }{
		{"a day twice", days + "2021-01-09,10\n", "the time 2021-01-09 is there twice"},
		{"days that go back", days + "2021-01-05,10\n", "t goes from 2021-01-09 to 2021-01-05"},
		{"no day of the calendar", days + "2021-02-30,10\n", `"2021-02-30" is no time`},
		{"a blank", days + ",10\n", `"" is no time`},
		{"days or months", "01/01/2021,1\n02/01/2021,2\n03/01/2021,3\n", "the order of day and month is not known"},
	} {
		path := filepath.Join(write(t, map[string]string{"a.csv": "date,y\n" + c.rows}), "a.csv")
		how, err := Guess([]string{path}, Options{})
		if err != nil || how.Time != "date" {
			t.Errorf("%s: --time %s, %v", c.name, how.Time, err)
		}
		if _, err = Read([]string{path}, how); err == nil || !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%s: %v, want %s", c.name, err, c.problem)
		}
		how, err = Guess([]string{path}, Options{Time: NoTime})
		if d := mustRead(t, how, path); err != nil || d.Spec.DT != 0 || d.Steps() != strings.Count(c.rows, "\n") {
			t.Errorf("%s, without times: %d steps of %v, %v", c.name, d.Steps(), d.Spec.DT, err)
		}
	}
}

// Names of recordings are no times, however few there are.
func TestGuess_NamesAreNoTimes(t *testing.T) {
	path := filepath.Join(write(t, map[string]string{"a.csv": "unique_id,ds,y\n" +
		"A,2020-01-01,1\nA,2020-01-02,2\nA,2020-01-03,3\nB,2020-01-01,4\nB,2020-01-02,5\nB,2020-01-03,6\n"}), "a.csv")
	how, err := Guess([]string{path}, Options{})
	if err != nil || how.Time != "ds" || how.ID != "unique_id" {
		t.Errorf("--time %s --id %s, %v", how.Time, how.ID, err)
	}
}

// Coordinates are observed together, whatever the convention calls z.
func TestGuess_Coordinates(t *testing.T) {
	path := filepath.Join(write(t, map[string]string{"a.csv": "t,x,y,z\n0,503,1006,5\n1,511,1023,6\n2,507,1017,5\n"}), "a.csv")
	how, err := Guess([]string{path}, Options{})
	if d := mustRead(t, how, path); err != nil || d.Spec.Observation != 3 {
		t.Errorf("--observe %s, %v", how.Observe, err)
	}
}

// Steps of a calendar begin where the calendar's do, on the clock of the file; a step is the mean of its rows.
func TestTable_StepsOfTheCalendar(t *testing.T) {
	for _, c := range []struct {
		name, step, times string
		want              []float32
	}{
		{"weeks from Monday on", "1w", "2019-01-17 2019-01-20 2019-01-21 2019-01-27 2019-01-28", []float32{1.5, 3.5, 5}},
		{"days of the file's clock", "1d", "2024-01-01T22:00-04:00 2024-01-01T23:00-04:00 2024-01-02T00:00-04:00 " +
			"2024-01-02T23:00-04:00 2024-01-03T00:00-04:00", []float32{1.5, 3.5, 5}},
		{"90 minutes from midnight on", "90min", "2024-01-01T06:00 2024-01-01T07:00 2024-01-01T08:00 " +
			"2024-01-01T09:00 2024-01-01T10:00", []float32{1.5, 3, 4.5}},
		{"tenths of seconds", "100ms", "2024-01-01T06:00:00.1 2024-01-01T06:00:00.2 2024-01-01T06:00:00.3 " +
			"2024-01-01T06:00:00.6 2024-01-01T06:00:00.7", []float32{1, 2, 3, 0, 0, 4, 5}},
	} {
		var text strings.Builder
		text.WriteString("t,y\n")
		for i, at := range strings.Fields(c.times) {
			text.WriteString(at + "," + itoa(i+1) + "\n")
		}
		d := readAs(t, Options{Resample: c.step}, text.String())
		equal(t, c.name, d.Episodes[0].Observations, c.want)
	}
}

// Whole numbers that float64 does not hold are refused by name.
func TestTable_WholeNumbersBeyondFloat64(t *testing.T) {
	path := filepath.Join(write(t, map[string]string{"a.csv": "t,y\n0,1\n1,9007199254740993\n2,3\n"}), "a.csv")
	_, err := Read([]string{path}, Options{})
	if err == nil || !strings.Contains(err.Error(), "column 2 (y): the whole number 9007199254740993") {
		t.Error(err)
	}
}

type wide struct {
	When deprecated.Int96 `parquet:"when"`
	Y    uint32           `parquet:"y"`
	Big  uint64           `parquet:"big"`
	Tags []int64          `parquet:"tags,list"`
}

// Parquet's whole numbers without a sign, its old timestamps and its lists: a list is left out with a note.
func TestRead_ParquetTypes(t *testing.T) {
	var file bytes.Buffer
	var all []wide
	for i := range 3 {
		at := time.Date(2024, 2, 28, 5+i, 0, 0, 0, time.UTC)
		days := uint32(at.Unix()/day + 2440588)
		nanoseconds := uint64(at.Unix()%day) * 1e9
		all = append(all, wide{
			deprecated.Int96{uint32(nanoseconds), uint32(nanoseconds >> 32), days}, 2147483646 + uint32(i), 1 << 40, []int64{1, 2},
		})
	}
	if err := parquet.Write(&file, all); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "wide.parquet")
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	d := mustRead(t, Options{Observe: []string{"y", "big"}, Time: "when"}, path)
	if d.Spec.DT != 1 || d.TimeUnit != "h" {
		t.Errorf("a step is %v %s", d.Spec.DT, d.TimeUnit)
	}
	equal(t, "without a sign", d.Episodes[0].Observations, []float32{0, 1 << 40, 1, 1 << 40, 2, 1 << 40})
	equal(t, "origins", d.Origins, []float64{2147483646, 0})
	if !strings.Contains(strings.Join(d.Notes, "\n"), "column tags is not read: it holds lists") {
		t.Errorf("notes: %q", d.Notes)
	}
	for b, want := range map[uint16]float64{
		0x3c00: 1, 0xc000: -2, 0x3555: 0.333251953125, 1: math.Ldexp(1, -24), 0x7bff: 65504, 0xfc00: math.Inf(-1),
	} {
		if got := half(b); got != want {
			t.Errorf("half of %#x is %v, want %v", b, got, want)
		}
	}
}

// A column z beside y is of modes where it counts, and was measured where it does not; whole numbers beyond float64 are
// refused with the columns that are left.
func TestReadGuessed_MeasuredZ(t *testing.T) {
	read := func(text string) (*Dataset, error) {
		path := filepath.Join(write(t, map[string]string{"a.csv": text}), "a.csv")
		d, _, err := ReadGuessed([]string{path}, Options{})
		return d, err
	}
	for text, channels := range map[string]int{
		"y,z\r1,10.5\r5,11\r3,12.5\r4,12\r": 2,
		"y,z\n1,0\n5,1\n3,1\n4,0\n":         1,
	} {
		if d, err := read(text); err != nil || d.Spec.Observation != channels {
			t.Errorf("%q: %+v, %v, want %d channels", text, d, err, channels)
		}
	}
	_, err := read("y_a,y_big,y_b\n1,9007199254740993,2\n2,9007199254740995,3\n")
	if fault := new(Error); !errors.As(err, &fault) || !strings.Contains(fault.Remedy, "--observe y_a,y_b") {
		t.Errorf("whole numbers beyond float64: %v", err)
	}
}

// TestRead_ParquetNamesLZ4: a compression that is not read is called by its name.
func TestRead_ParquetNamesLZ4(t *testing.T) {
	var file bytes.Buffer
	if err := parquet.Write(&file, []struct {
		Y int64 `parquet:"y"`
	}{{1}, {2}, {4}}, parquet.Compression(&parquet.Snappy)); err != nil {
		t.Fatal(err)
	}
	// The codec follows the path of the column in its description, as twice its number: 1 is Snappy, and 5 is LZ4.
	patched := bytes.Replace(file.Bytes(), []byte("\x19\x18\x01y\x15\x02"), []byte("\x19\x18\x01y\x15\x0a"), 1)
	if bytes.Equal(patched, file.Bytes()) {
		t.Fatal("the file has no codec where it was")
	}
	path := filepath.Join(t.TempDir(), "a.parquet")
	if err := os.WriteFile(path, patched, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read([]string{path}, Options{}); err == nil || !strings.Contains(err.Error(), "LZ4") {
		t.Errorf("got %v", err)
	}
}

// A name that is asked for stands: no guess takes its place, and one that is nowhere is what is wrong.
func TestReadGuessed_AskedNames(t *testing.T) {
	path := filepath.Join(write(t, map[string]string{"a.csv": "shop,month,amount\n" +
		"A,2020-01,1.5\nA,2020-02,2.5\nA,2020-03,3.5\nB,2020-01,4.5\nB,2020-02,5.5\nB,2020-03,6.5\n"}), "a.csv")
	for _, c := range []struct {
		asked Options
		want  string
	}{
		{Options{ID: "shops"}, "--id shops: there is no such column; there are shop, month, amount"},
		{Options{ID: "month", Time: "month"}, "--id month: it is given as --time too"},
		{Options{Observe: []string{"amounts"}}, "--observe amounts: there is no such column; there are shop, month, amount"},
	} {
		if _, _, err := ReadGuessed([]string{path}, c.asked); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %s", c.asked, err, c.want)
		}
	}
}

// Headings of any program are names that can be listed with commas on one line, and stay whole.
func TestReadGuessed_Headings(t *testing.T) {
	path := filepath.Join(write(t, map[string]string{"a.csv": "time (s), speed [m/s] ,\"torque, Nm\",\"power\n(W)\"\n" +
		"0,1.5,2.5,3.5\n1,2.5,1.5,4\n2,2,1,0.5\n"}), "a.csv")
	d, how, err := ReadGuessed([]string{path}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "channels", d.Channels(), []string{"speed [m/s]", "torque Nm", "power (W)"})
	// A run keeps the columns in its settings.
	s := Settings{}
	s.Complete(how)
	if how, err = s.Options(); err != nil {
		t.Fatal(err)
	}
	if again := mustRead(t, how, path); again.Spec.DT != 1 {
		t.Errorf("dt %v", again.Spec.DT)
	} else {
		equal(t, "channels of the settings", again.Channels(), d.Channels())
	}
	if plan, err := ReadPlan(path, []string{"torque Nm"}, nil, nil); err != nil || len(plan.Rows) != 3 {
		t.Errorf("a column of a plan: %v", err)
	}
}

// A heading twice is a fault of the file, also where all columns are observed by a guess.
func TestReadGuessed_HeadingTwice(t *testing.T) {
	path := filepath.Join(write(t, map[string]string{"a.csv": "t,speed,speed,x,y\n0,1.5,2.5,3.5,1\n1,2.5,1.5,4,1.5\n"}), "a.csv")
	_, _, err := ReadGuessed([]string{path}, Options{})
	if want := "line 1: column speed is there twice; give every column its own name"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestLacking: a name that no file has is told from faults of the values, in tables and in arrays.
func TestLacking(t *testing.T) {
	t.Parallel()
	one, shape := []float64{1, 2, 3}, []int{1, 3, 1}
	folder := write(t, map[string]string{
		"a.csv": "t,y\n1,x\n", "b.csv": "when,y\n1,1\n1,2\n",
		"c.npz": npz(t, named{"a", shape, one}, named{"b", shape, one}, named{"c", shape, one}),
	})
	for _, c := range []struct {
		o     Options
		files string
		want  bool
	}{
		{Options{}, "a.csv", false},
		{Options{Time: "t"}, "a.csv", false},
		{Options{Time: "when"}, "a.csv", true},
		{Options{Time: "when"}, "a.csv b.csv", false},
		{Options{Time: "when", ID: "shop"}, "a.csv b.csv", true},
		{Options{Observe: []string{"a", "b"}, Control: []string{"c"}}, "c.npz", false}, // read as one, which is a fault
		{Options{Observe: []string{"a", "b"}, Control: []string{"d"}}, "c.npz", true},
		{Options{Observe: []string{"d"}}, "c.npz", true},
	} {
		var paths []string
		for _, file := range strings.Fields(c.files) {
			paths = append(paths, filepath.Join(folder, file))
		}
		if _, err := Read(paths, c.o); !errors.Is(err, ErrData) {
			t.Errorf("%+v of %s: read with %v", c.o, c.files, err)
		}
		if got := Lacking(paths, c.o) != nil; got != c.want {
			t.Errorf("%+v of %s: lacking %t, want %t", c.o, c.files, got, c.want)
		}
	}
}
