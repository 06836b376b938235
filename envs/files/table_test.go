package files

import (
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func readAs(t testing.TB, o Options, text string) *Dataset {
	t.Helper()
	return mustRead(t, o, filepath.Join(write(t, map[string]string{"a.csv": text}), "a.csv"))
}

// A long table has a row per recording and time; its recordings may be mixed and out of order.
func TestTable_LongTable(t *testing.T) {
	d := readAs(t, Options{Observe: []string{"y"}, Time: "ds", ID: "unique_id"},
		"unique_id,ds,y,extra\nA,2024-01-02,2,9\nB,2024-01-01,10,9\nA,2024-01-01,1,9\nB,2024-01-03,30,9\nC,2024-01-01,5,9\nA,2024-01-03,3,9\n")
	if len(d.Episodes) != 2 || d.Spec.DT != 1 || d.TimeUnit != "day" || d.Episodes[0].Name != "A" || d.Episodes[1].Name != "B" {
		t.Fatalf("got %+v with dt %v %s", d.Episodes, d.Spec.DT, d.TimeUnit)
	}
	equal(t, "A", d.Episodes[0].Observations, []float32{1, 2, 3})
	equal(t, "B", d.Episodes[1].Observations, []float32{10, 0, 30})
	equal(t, "mask of B", d.Episodes[1].Mask, []float32{1, 0, 1})
	equal(t, "notes", d.Notes, []string{
		"column extra is not used", "rows of 1 recording were put in the order of their times", "1 recording of one row left out",
		"the even grid has 1 step without a row: observations are missing there",
	})
}

func TestTable_Times(t *testing.T) {
	for _, c := range []struct {
		name  string
		times string
		dt    float64
		unit  string
		steps int
	}{
		{"numbers", "0 0.5 1 1.5", 0.5, "", 4},
		{"rounded numbers", "1949.000 1949.083 1949.167 1949.25 1949.333", 0.08325, "", 5},
		{"a gap", "0 1 2 5 6", 1, "", 7},
		{"a finer end", "0 2 4 6 7", 1, "", 8},
		{"newest first", "3 2 1 0", 1, "", 4},
		{"months of unequal length", "2024-01-31 2024-02-29 2024-03-31 2024-05-31", 1, "month", 5},
		{"first days of months", "1949-01-01 1949-02-01 1949-03-01", 1, "month", 3},
		{"months", "1949-01 1949-02 1949-03", 1, "month", 3},
		{"quarters", "1959Q1 1959Q2 1959Q4", 3, "month", 4},
		{"years", "1821-01-01 1822-01-01 1824-01-01", 1, "year", 4},
		{"weeks", "2024-01-06 2024-01-13 2024-01-20", 7, "day", 3},
		{"business days", "1991-07-01 1991-07-02 1991-07-03 1991-07-04 1991-07-05 1991-07-08 1991-07-09", 1, "business day", 7},
		{"a business day that is missing", "1991-07-01 1991-07-02 1991-07-04 1991-07-05 1991-07-08 1991-07-09", 1, "business day", 7},
		{"hours", "2024-01-01T00:00:00Z 2024-01-01T01:00:00Z 2024-01-01T02:00:00Z", 1, "h", 3},
		{"zones", "2024-03-31T00:00:00+01:00 2024-03-31T01:00:00+01:00 2024-03-31T03:00:00+02:00 2024-03-31T04:00:00+02:00", 1, "h", 4},
		{"tenths of seconds", "2024-01-01T00:00:00.0Z 2024-01-01T00:00:00.1Z 2024-01-01T00:00:00.2Z", 0.1, "s", 3},
		{"German", "31.12.2023 01.01.2024 02.01.2024", 1, "day", 3},
	} {
		text := "when,v\n"
		for i, at := range strings.Fields(c.times) {
			text += at + "," + itoa(i) + "\n"
		}
		d := readAs(t, Options{Observe: []string{"v"}, Time: "when"}, text)
		if got := d.Spec.DT; math.Abs(got-c.dt) > 1e-3*c.dt || d.TimeUnit != c.unit || d.Episodes[0].T != c.steps {
			t.Errorf("%s: %d steps of %v %q, want %d of %v %q", c.name, d.Episodes[0].T, got, d.TimeUnit, c.steps, c.dt, c.unit)
		}
	}
}

// Times off the grid by a tenth are uneven; off by a hundredth they are rounded.
func TestTable_UnevenTimesAreNotPassed(t *testing.T) {
	rows := func(off string) string { return "t,y\n0,1\n1,1\n" + off + ",1\n3,1\n4,1\n" }
	readAs(t, Options{}, rows("2.01"))
	path := filepath.Join(write(t, map[string]string{"a.csv": rows("2.10")}), "a.csv")
	if _, err := Read([]string{path}, Options{}); !errors.Is(err, ErrData) || !strings.Contains(err.Error(), "--resample 1") {
		t.Errorf("got %v, want a hint to resample", err)
	}
	d := mustRead(t, Options{Resample: "1"}, path)
	if d.Episodes[0].T != 5 || d.Episodes[0].Mask != nil {
		t.Errorf("resampled: %+v", d.Episodes[0])
	}
}

func TestTable_Resample(t *testing.T) {
	d := readAs(t, Options{Resample: "1d", Time: "t"},
		"t,y,u,z\n2024-01-01 06:00,1,1,0\n2024-01-01 18:00,3,2,1\n2024-01-02 01:00,5,3,1\n2024-01-04 23:00,7,4,2\n")
	e := d.Episodes[0]
	equal(t, "means, and a day without rows", e.Observations, []float32{2, 5, 0, 7})
	equal(t, "mask", e.Mask, []float32{1, 1, 0, 1})
	equal(t, "controls hold", e.Controls, []float32{0, 3, 3, 4})
	equal(t, "modes hold", e.Modes, []int32{1, 1, 1, 2})
	d = readAs(t, Options{Resample: "1b", Time: "t"}, "t,y\n2024-01-05,1\n2024-01-06 12:00,2\n2024-01-07 23:00,6\n2024-01-08,5\n")
	equal(t, "a weekend is of its Friday", d.Episodes[0].Observations, []float32{3, 5})
	d = readAs(t, Options{Resample: "0.5"}, "t,y\n0.02,1\n0.49,2\n1.05,3\n1.95,4\n")
	equal(t, "steps from the first row on", d.Episodes[0].Observations, []float32{1.5, 0, 3, 4})
	d = readAs(t, Options{Resample: "1q", Time: "t"}, "t,y\n2024-01,1\n2024-02,2\n2024-03,3\n2024-04,7\n")
	equal(t, "quarters of months", d.Episodes[0].Observations, []float32{2, 7})
	d = readAs(t, Options{Resample: "2"}, "t,y,mask\n0,1,1\n1,1000,0\n2,3,0\n3,4,1\n4,1000,0\n5,1000,0\n6,7,1\n7,8,1\n")
	equal(t, "means of what is observed", d.Episodes[0].Observations, []float32{1, 4, 0, 7.5})
	equal(t, "a step with nothing observed", d.Episodes[0].Mask, []float32{1, 1, 0, 1})
}

// Controls that act behind their row act up to the next one, whatever the grid, and alike from a table and from arrays.
func TestTable_ControlsAfterTheirRow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, resample  string
		times, controls []float64
		want            []float32
	}{
		{"means of two", "2", []float64{0, 1, 2, 3, 4, 5}, []float64{10, 20, 30, 40, 50, 60}, []float32{0, 25, 45}},
		{"steps between rows", "1", []float64{0, 2, 4}, []float64{10, 20, 30}, []float32{0, 10, 10, 20, 20}},
		{"missing rows", "", []float64{0, 1, 2, 4, 5}, []float64{10, 20, 30, 40, 50}, []float32{0, 10, 20, 30, 30, 40}},
	} {
		var text strings.Builder
		text.WriteString("t,y,u\n")
		for i, at := range c.times {
			text.WriteString(itoa(int(at)) + ",1," + itoa(int(c.controls[i])) + "\n")
		}
		o := Options{Resample: c.resample, ControlsAfter: true}
		equal(t, c.name, readAs(t, o, text.String()).Episodes[0].Controls, c.want)
		if c.resample == "" { // arrays have all rows
			continue
		}
		n := len(c.times)
		file := npz(t, named{"y", []int{1, n, 1}, make([]float64, n)}, named{"u", []int{1, n, 1}, c.controls},
			named{"t", []int{1, n}, c.times})
		arrays := mustRead(t, o, filepath.Join(write(t, map[string]string{"d.npz": file}), "d.npz"))
		equal(t, c.name+", arrays", arrays.Episodes[0].Controls, c.want)
	}
}

// Lines that begin with # are comments, unless that is the sign of a missing value in their first cell or stands within
// quotes. They move no row.
func TestTable_Comments(t *testing.T) {
	t.Parallel()
	d := readAs(t, Options{Observe: []string{"y", "x"}}, "# made by hand\ny,x\n1,2\n#N/A,3\n# y,x,\"z\n4,5\n#NA,6")
	equal(t, "the first cell", d.Episodes[0].Mask, []float32{1, 1, 0, 1, 1, 1, 0, 1})
	d = readAs(t, Options{Observe: []string{"y"}}, "y\n1\n# the sensor was restarted\n2\n\n# twice\n\n3\n#N/A\n4\n")
	equal(t, "one column", d.Episodes[0].Mask, []float32{1, 1, 0, 0, 1, 0, 1})
	d = readAs(t, Options{Observe: []string{"y"}}, "y,id\n1,\"a\n# b\"\n2,\"a\n# b\"\n")
	if e := d.Episodes[0]; e.T != 2 {
		t.Errorf("a line within quotes is taken for a comment: %d steps of %q", e.T, e.Name)
	}
	path := filepath.Join(write(t, map[string]string{"d.csv": "sep=;\ny;x\n1;2\n3;oops\n"}), "d.csv")
	if _, err := Read([]string{path}, Options{Observe: []string{"y", "x"}}); err == nil || !strings.Contains(err.Error(), "line 4") {
		t.Errorf("%v, want a fault in line 4", err)
	}
}

func TestTable_NumbersOfOtherCountries(t *testing.T) {
	d := readAs(t, Options{}, "y1;y2;y3\n1,5;TRUE;3\n-2,25e1;false;n/a\n")
	equal(t, "decimal commas and truth values", d.Episodes[0].Observations, []float32{1.5, 1, 3, -22.5, 0, 0})
}

// TestTable_SignsOfMissingValues: those of statistics programs and spreadsheets are read, and it is said.
func TestTable_SignsOfMissingValues(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"y1,y2\n1.5,-\n.,2\n-,-3\n4,#N/A\n", "y1;y2\n1,5;-\n.;2\n-;-3\n4;#N/A\n", "y1\ty2\n1.5\t-\n.\t2\n-\t-3\n4\t#N/A\n",
	} {
		d := readAs(t, Options{}, text)
		e := d.Episodes[0]
		equal(t, "values", e.Observations, []float32{1.5, 0, 0, 2, 0, -3, 4, 0})
		equal(t, "mask", e.Mask, []float32{1, 0, 0, 1, 0, 1, 1, 0})
		want := []string{`"#N/A" is read as a missing value, in 1 cell`, `"-" is read as a missing value, in 2 cells`, `"." is read as a missing value, in 1 cell`}
		if !slices.Equal(d.Notes, want) {
			t.Errorf("notes %q, want %q", d.Notes, want)
		}
	}
	dir := write(t, map[string]string{"a.csv": "y\n1\n=-\n"})
	if _, err := Read([]string{dir}, Options{}); err == nil {
		t.Error("any sign is read as a missing value")
	}
}

// A number that is too large for any of ours is refused, and not taken for another one.
func TestTable_NumbersBeyondAllRange(t *testing.T) {
	for _, text := range []string{"1e400", "-1e400", "1e39"} {
		path := filepath.Join(write(t, map[string]string{"a.csv": "y\n1\n" + text + "\n2\n"}), "a.csv")
		var e *Error
		if _, err := Read([]string{path}, Options{}); !errors.As(err, &e) || e.Place != "line 3, column 1 (y)" {
			t.Errorf("%s: got %v", text, err)
		}
	}
}

func TestTable_MissingControlsHold(t *testing.T) {
	d := readAs(t, Options{}, "y,u\n1,\n2,\n3,5\n4,\n5,6\n")
	equal(t, "controls", d.Episodes[0].Controls, []float32{0, 5, 5, 5, 6})
	equal(t, "notes", d.Notes, []string{"2 missing controls: the control of the step before holds"})
}

// A table holds no more memory than the limit, whatever its text.
func TestTable_Limit(t *testing.T) {
	path := filepath.Join(write(t, map[string]string{"a.csv": "t,y\n0,1\n1,2\n150,3\n151,3\n"}), "a.csv")
	if _, err := Read([]string{path}, Options{Limit: 200}); err != nil {
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(e.Remedy, "--limit") {
			t.Errorf("got %v", err)
		}
	} else {
		t.Error("rows of gaps are not counted")
	}
	if _, err := Read([]string{path}, Options{Limit: 1 << 16}); err != nil {
		t.Error(err)
	}
}

func TestNPY_OneRecording(t *testing.T) {
	dir := write(t, map[string]string{
		"two.npz": npz(t, named{"y", []int{3, 2}, []float32{1, 2, 3, 4, 5, 6}}, named{"u", []int{3, 1}, []float32{0, 1, 2}},
			named{"z", []int{3}, []float32{0, 1, 1}}, named{"mask", []int{3}, []float32{1, 0, 1}}),
		"one.npy": header("<f4", false, "(4,)") + strings.Repeat("\x00\x00\x80\x3f", 4),
	})
	d := mustRead(t, Options{}, filepath.Join(dir, "two.npz"))
	e := d.Episodes[0]
	if len(d.Episodes) != 1 || e.T != 3 || d.Spec.Observation != 2 || d.Spec.Control != 1 || !slices.Equal(e.Modes, []int32{0, 1, 1}) {
		t.Errorf("[T,d]: %+v", d)
	}
	equal(t, "mask", e.Mask, []float32{1, 1, 0, 0, 1, 1})
	if d := mustRead(t, Options{}, filepath.Join(dir, "one.npy")); d.Episodes[0].T != 4 || d.Spec.Observation != 1 {
		t.Errorf("[T]: %+v", d)
	}
	d = mustRead(t, Options{Observe: []string{"u"}, Control: []string{"y"}}, filepath.Join(dir, "two.npz"))
	if d.Spec.Observation != 1 || d.Spec.Control != 2 {
		t.Errorf("arrays by name: %+v", d.Spec)
	}
}

func TestColumns_ByName(t *testing.T) {
	d := readAs(t, Options{Observe: []string{"speed", "y"}, Control: []string{"volt"}, Label: []string{"on"}},
		"y,speed,y2,u,volt,on,label\n1,2,3,4,5,1,0\n1,2,3,4,5,0,0\n")
	equal(t, "observations", d.ObservationNames, []string{"y", "speed"})
	equal(t, "controls", d.ControlNames, []string{"volt"})
	equal(t, "labels", d.Spec.Labels, []string{"on"})
	equal(t, "the others", d.Notes, []string{"column y2 is not used", "column u is not used", "column label is not used"})
	d = readAs(t, Options{}, "y,date\n1,2024-01-01\n1,2024-01-02\n")
	equal(t, "dates that nobody named", d.Notes, []string{"column date is not used: to take it as the times, say --time date (env.time=date)"})
	equal(t, "even steps", readAs(t, Options{Time: NoTime}, "y,date\n1,2024-01-01\n1,2024-01-02\n").Notes, []string{"column date is not used"})
}

// What is written is read again: the largest values, names that look alike, and a channel that is missing at times.
func TestCSV_WhatIsWrittenIsRead(t *testing.T) {
	d := ramp(3)
	d.Spec.Name, d.Spec.Observation = "files", 2
	for i := range d.Episodes {
		e := &d.Episodes[i]
		e.Observations = make([]float32, 2*e.T)
		e.Observations[0], e.Observations[1] = math.MaxFloat32, -math.MaxFloat32
		e.Observations[3] = nan
	}
	d.ObservationNames = []string{"a", "y_a"}
	var b strings.Builder
	if err := errors.Join(d.check(), d.WriteCSV(&b)); err != nil {
		t.Fatal(err)
	}
	back := readText1(t, b.String())
	for i := range d.Episodes {
		equal(t, "observations", back.Episodes[i].Observations, d.Episodes[i].Observations)
		equal(t, "mask", back.Episodes[i].Mask, d.Episodes[i].Mask)
	}
	one := ramp(1)
	one.Episodes[0].Observations = []float32{1, nan}
	b.Reset()
	if err := errors.Join(one.check(), one.EpisodeCSV()(&b, 0)); err != nil {
		t.Fatal(err)
	}
	equal(t, "a missing value in a table of one column", readText1(t, b.String()+"3\n").Episodes[0].Mask, []float32{1, 0, 1})
}

// TestCSV_JoinedFiles: where one of the files says modes and parts and the other does not, the table has neither, and
// can be read.
func TestCSV_JoinedFiles(t *testing.T) {
	dir := write(t, map[string]string{"a.csv": "y_a,z,split\n1,0,train\n2,1,train\n", "b.csv": "y_a\n1\n2\n"})
	var b strings.Builder
	if err := mustRead(t, Options{}, filepath.Join(dir, "a.csv"), filepath.Join(dir, "b.csv")).WriteCSV(&b); err != nil {
		t.Fatal(err)
	}
	if back := readText1(t, b.String()); len(back.Episodes) != 2 || back.Episodes[0].Modes != nil {
		t.Errorf("%q is read as %+v", b.String(), back)
	}
}

// TestTable_UnusedNamesOfTheConvention: a column whose role an option gives to another one is not used, and takes no
// name away.
func TestTable_UnusedNamesOfTheConvention(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		o    Options
		text string
	}{
		{Options{Time: "date"}, "t,date,y\n5,2024-01-01,1\n6,2024-01-02,2\n"},
		{Options{ID: "shop"}, "episode,shop,y\n5,a,1\n6,a,2\n"},
		{Options{Truth: "mode"}, "z,mode,y\n5,0,1\n6,1,2\n"},
		{Options{Observe: []string{"speed"}}, "y_speed,speed\n5,1\n6,2\n"},
		{Options{Control: []string{"volt"}}, "u_volt,volt,y\n5,0,1\n6,1,2\n"},
	} {
		d := readAs(t, c.o, c.text)
		equal(t, c.text, d.Episodes[0].Observations, []float32{1, 2})
		first, _, _ := strings.Cut(c.text, ",")
		equal(t, c.text, d.Notes, []string{"column " + first + " is not used"})
	}
	path := filepath.Join(write(t, map[string]string{"a.csv": "t,date,date,y\n5,2024-01-01,2024-01-01,1\n"}), "a.csv")
	if _, err := Read([]string{path}, Options{Time: "date"}); err == nil || !strings.Contains(err.Error(), "column date is there twice") {
		t.Errorf("got %v, want a column that is there twice", err)
	}
}

// TestTable_UnusedNumbersWithSigns: of a column that is not used because its numbers have signs the note says so. Names,
// dates, and cells of which only some are nearly numbers, are none.
func TestTable_UnusedNumbersWithSigns(t *testing.T) {
	d := readAs(t, Options{Observe: []string{"Menge"}},
		"Menge;Preis;Anteil;Name;Datum;Rest;Zahl\n1,25;1.200,50;;A1;01.02.2024;5 %;7\n2,5;950,25;12 %;A2;02.02.2024;viel;8\n3;1.100,00;9 %;A3;03.02.2024;6 %;9\n")
	equal(t, "notes", d.Notes, []string{
		`column Preis is not used; its cells are no numbers, as "1.200,50": it has points for thousands: leave them out`,
		`column Anteil is not used; its cells are no numbers, as "12 %": leave out what stands beside the number`,
		"column Name is not used", "column Datum is not used", "column Rest is not used", "column Zahl is not used",
	})
}
