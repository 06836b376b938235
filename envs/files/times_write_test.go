package files

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// days are n rows of a table from a day on, each so many days, or months, after the one before.
func days(first, layout string, n, step, months int) string {
	at, err := time.Parse(time.DateOnly, first)
	if err != nil {
		panic(err)
	}
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s,%d\n", at.AddDate(0, months*i, step*i).Format(layout), i*i%7)
	}
	return b.String()
}

// TestWrite_KeepsTimes: what is written as a table or as arrays has the hash of what was read, and answers with the
// same dates, or with the same in ISO 8601 where a file needs an option to say what its dates mean.
func TestWrite_KeepsTimes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		o    Options
		next string // the time that follows; empty: times are not kept
	}{
		"days":       {"date,y\n" + days("2024-02-20", "2006-01-02", 20, 1, 0), Options{Time: "date"}, "2024-03-11"},
		"days first": {"date,y\n" + days("2024-02-20", "02/01/2006", 20, 1, 0), Options{Time: "date"}, "2024-03-11"},
		"months":     {"date,y\n" + days("2020-01-01", "2006-01", 20, 0, 1), Options{Time: "date"}, "2021-09"},
		"codes":      {"date,y\n" + days("2020-06-01", "200601", 20, 0, 1), Options{Time: "date"}, "2022-02-01"},
		"parts":      {"year,month,y\n" + days("2020-01-01", "2006,1", 20, 0, 1), Options{Time: "year,month"}, "2021-09-01"},
		"words":      {"date,y\n" + days("2024-02-20", "2 Jan 2006", 20, 7, 0), Options{Time: "date"}, "9 Jul 2024"},
		"hours":      {"day,clock,y\n2024-01-01,22:00,1\n2024-01-01,23:00,2\n2024-01-02,00:00,3\n", Options{Time: "day,clock"}, "2024-01-02 01:00:00"},
		"offset":     {"date,y\n2024-01-01T22:00+02:00,1\n2024-01-01T23:00+02:00,2\n2024-01-02T00:00+02:00,3\n", Options{Time: "date"}, "2024-01-02T01:00+02:00"},
		"years":      {"year,y\n1960,1\n1961,2\n1962,3\n", Options{Time: "year"}, "1963"},
		"resampled":  {"date,y\n" + days("2024-02-20", "2006-01-02", 90, 1, 0), Options{Time: "date", Resample: "1mo"}, "2024-06-01"},
		"cut":        {"date,y\n" + days("2024-02-20", "2006-01-02", 20, 1, 0), Options{Time: "date", Cut: 8}, "2024-03-11"},
		"from 0 on":  {"t,y\n0,1\n0.1,2\n0.2,3\n", Options{}, ""},
		"one week": {
			"id,date,y\n" + days("2024-01-08", "b,2006-01-02", 5, 1, 0) + days("2024-01-15", "b,2006-01-02", 5, 1, 0) + days("2024-01-11", "a,2006-01-02", 2, 1, 0),
			Options{Time: "date", ID: "id"},
			"2024-01-15",
		},
		"end of January": {"date,y\n2024-01-30,1\n2024-03-30,2\n2024-04-30,3\n", Options{Time: "date"}, ""},
		"summer time":    {"date,y\n2024-03-30T00:00+01:00,1\n2024-03-31T00:00+01:00,2\n2024-04-01T00:00+02:00,3\n", Options{Time: "date"}, ""},
		"one without":    {"id,date,y\na,2024-01-01,1\na,2024-01-02,1\nb,346,1\n", Options{ID: "id"}, ""},
	} {
		d := readAs(t, c.o, c.text)
		if kept := d.KeepsTimes(true); kept != (c.next != "") {
			t.Errorf("%s: times are kept: %v", name, kept)
			continue
		} else if !kept {
			d.TimeUnit = ""
		}
		hash, err := d.Hash()
		if err != nil {
			t.Fatal(err)
		}
		var table, arrays bytes.Buffer
		if err := d.WriteCSV(&table); err != nil {
			t.Fatal(err)
		}
		if err := d.WriteNPZ(&arrays); err != nil {
			t.Fatal(err)
		}
		dir := write(t, map[string]string{"d.csv": table.String(), "d.npz": arrays.String()})
		for _, ending := range []string{"d.csv", "d.npz"} {
			back := mustRead(t, Options{}, filepath.Join(dir, ending))
			if again, err := back.Hash(); err != nil || again != hash {
				t.Errorf("%s, %s: dt %v %s, was %v %s (%v)", name, ending, back.Spec.DT, back.TimeUnit, d.Spec.DT, d.TimeUnit, err)
			}
			e := back.Episodes[len(back.Episodes)-1]
			if got := e.Times.Text(e.T); c.next != "" && !slices.Equal(got, []string{c.next}) {
				t.Errorf("%s, %s: %v follows, want %s", name, ending, got, c.next)
			}
		}
	}
}

// TestWrite_KeepsNames: recordings have their names in what is written, if each has one of its own.
func TestWrite_KeepsNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		o    Options
		want []string
	}{
		{"shop,y\nnorth,1\nnorth,2\nsouth,3\nsouth,4\nsouth,5\n", Options{ID: "shop"}, []string{"north", "south"}},
		{"shop,item,y\nnorth,1,1\nnorth,1,2\nnorth,2,3\nnorth,2,4\n", Options{ID: "shop,item"}, []string{"north/1", "north/2"}},
		{"shop,y\nnorth,1\nnorth,2\nnorth,3\nnorth,4\n", Options{ID: "shop", Cut: 2}, []string{"0", "1"}},
	} {
		d := readAs(t, c.o, c.text)
		var table, arrays, one bytes.Buffer
		if err := d.WriteCSV(&table); err != nil {
			t.Fatal(err)
		}
		if err := d.WriteNPZ(&arrays); err != nil {
			t.Fatal(err)
		}
		if err := d.EpisodeCSV()(&one, 1); err != nil {
			t.Fatal(err)
		}
		dir := write(t, map[string]string{"d.csv": table.String(), "d.npz": arrays.String(), "one.csv": one.String()})
		names := func(file string) (list []string) {
			for _, e := range mustRead(t, Options{}, filepath.Join(dir, file)).Episodes {
				list = append(list, e.Name)
			}
			return list
		}
		equal(t, "table", names("d.csv"), c.want)
		if c.o.Cut > 0 {
			c.want = []string{"", ""}
		}
		equal(t, "arrays", names("d.npz"), c.want)
		equal(t, "an episode alone", names("one.csv"), c.want[1:])
	}
	// A table has no name that begins a comment; arrays may.
	d := readAs(t, Options{ID: "shop"}, "y,shop\n1,#1\n2,#1\n3,b\n4,b\n")
	var table, one bytes.Buffer
	if err := errors.Join(d.WriteCSV(&table), d.EpisodeCSV()(&one, 0)); err != nil {
		t.Fatal(err)
	}
	dir := write(t, map[string]string{"d.csv": table.String(), "one.csv": one.String()})
	for file, want := range map[string]int{"d.csv": 4, "one.csv": 2} {
		if got := mustRead(t, Options{}, filepath.Join(dir, file)).Steps(); got != want {
			t.Errorf("%s has %d steps, want %d", file, got, want)
		}
	}
	// Names that are numbers, or fewer than episodes, are no names.
	y := named{"y", []int{2, 2, 1}, []float32{1, 2, 3, 4}}
	for _, other := range []named{{"episode", []int{2}, []float32{3, 7}}, {"episode", nil, []string{"a", "a"}}, {"episode", nil, []string{"a"}}} {
		d := mustRead(t, Options{}, filepath.Join(write(t, map[string]string{"d.npz": npz(t, y, other)}), "d.npz"))
		if d.Key != nil || d.Episodes[0].Name != "" || len(d.Notes) != 1 || !strings.HasPrefix(d.Notes[0], "array episode [") {
			t.Errorf("%v: names %q, notes %v", other.data, d.Episodes[0].Name, d.Notes)
		}
	}
	// Each recording of all files has a name of its own, or none has.
	two := func(first, second []string) *Dataset {
		dir := write(t, map[string]string{
			"a.npz": npz(t, y, named{"episode", nil, first}), "b.npz": npz(t, y, named{"episode", nil, second}),
		})
		return mustRead(t, Options{}, dir)
	}
	if d := two([]string{"a", "b"}, []string{"c", "d"}); d.Key == nil || d.Episodes[3].Name != "d" {
		t.Errorf("names %q of two files", d.Recordings())
	}
	for _, second := range [][]string{{"a", "c"}, {"c", "c"}} {
		d := two([]string{"a", "b"}, second)
		if d.Key != nil || d.Episodes[0].Name != "" || !slices.ContainsFunc(d.Notes, func(note string) bool { return strings.Contains(note, "one of its own") }) {
			t.Errorf("second file %q: names %q, notes %v", second, d.Recordings(), d.Notes)
		}
	}
}

// TestWriteNPZ_TimesArePadding: an array of times that would be padding for the most part is not written.
func TestWriteNPZ_TimesArePadding(t *testing.T) {
	t.Parallel()
	d := &Dataset{Episodes: make([]Episode, 400)}
	for i := range d.Episodes {
		d.Episodes[i].T = 10
	}
	if !d.padsTimes() {
		t.Error("episodes of one length have no room for times")
	}
	if d.Episodes[0].T = 60_000; d.padsTimes() {
		t.Error("24 million times are written for 64,000 steps")
	}
}

// TestCSV_EndsOfASingleChannel: missing values at both ends of a table of one column are written so that they are read.
func TestCSV_EndsOfASingleChannel(t *testing.T) {
	t.Parallel()
	d := readAs(t, Options{}, "y,u\n,0\n2,0\n,0\n4,0\n,0\n,0\n")
	d.Spec.Control, d.Episodes[0].Controls = 0, nil
	var b strings.Builder
	if err := d.EpisodeCSV()(&b, 0); err != nil {
		t.Fatal(err)
	}
	e := readText1(t, b.String()).Episodes[0]
	equal(t, b.String(), e.Mask, []float32{0, 1, 0, 1, 0, 0})
	equal(t, b.String(), e.Observations, []float32{0, 2, 0, 4, 0, 0})
}
