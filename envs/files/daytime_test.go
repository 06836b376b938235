package files

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Days and times of the day in two columns are one time; across midnight, too, and in whatever order the columns are.
func TestTable_DaysAndTimesOfTheDay(t *testing.T) {
	for _, c := range []struct {
		name, text, time string
		dt               float64
		unit             string
		steps, missing   int
	}{
		{"numbers", "day,clock,v\n346,2340,1\n346,2350,2\n347,0,3\n347,10,4\n", "day,clock", 10, "min", 4, 0},
		{"a row is missing", "day,clock,v\n1,840,1\n1,850,2\n1,910,4\n1,920,5\n", "day,clock", 10, "min", 5, 1},
		{"the clock first", "clock,day,v\n23:30,2024-02-28,1\n00:00,2024-02-29,2\n00:30,2024-02-29,3\n", "day,clock", 30, "min", 3, 0},
		{"seconds", "day,clock,v\n1,0:00:00,1\n1,0:00:01,2\n1,0:00:02,3\n", "day,clock", 1, "s", 3, 0},
		{"twelve hours", "day,clock,v\n1,11:00 am,1\n1,12:00 PM,2\n1,1:00 PM,3\n", "day,clock", 1, "h", 3, 0},
		{"hours", "day,clock,v\n20240101,22,1\n20240101,23,2\n20240102,0,3\n20240102,1,4\n", "day,clock", 1, "h", 4, 0},
		{"numbers in one column", "clock,v\n840,1\n850,2\n900,3\n910,4\n920,5\n930,6\n", "clock", 10, "min", 6, 0},
		{"numbers that are even as such", "clock,v\n800,1\n810,2\n820,3\n830,4\n840,5\n850,6\n", "clock", 10, "", 6, 0},
		{"numbers that are uneven as both", "clock,v\n0,1\n10,2\n20,3\n30,4\n110,5\n120,6\n", "clock", 10, "", 13, 7},
		{"numbers of days have no weekdays", "day,clock,v\n4,0,1\n5,0,2\n6,0,3\n7,0,4\n8,0,5\n11,0,6\n12,0,7\n", "day,clock", 1, "day", 9, 2},
		{"numbers that are no times of the day", "clock,v\n840,1\n850,2\n860,3\n880,4\n890,5\n900,6\n", "clock", 10, "", 7, 1},
	} {
		d := readAs(t, Options{Observe: []string{"v"}, Time: c.time}, c.text)
		missing := 0
		for _, m := range d.Episodes[0].Mask {
			if m == 0 {
				missing++
			}
		}
		if d.Spec.DT != c.dt || d.TimeUnit != c.unit || d.Episodes[0].T != c.steps || missing != c.missing {
			t.Errorf("%s: %d steps of %v %q, %d missing; want %d of %v %q, %d", c.name, d.Episodes[0].T, d.Spec.DT, d.TimeUnit, missing, c.steps, c.dt, c.unit, c.missing)
		}
	}
}

// What is no day, no time of the day, or uneven, is told with its place and what to do.
func TestTable_TimesOfTheDayThatAreNone(t *testing.T) {
	for _, c := range []struct{ text, time, want string }{
		{"day,clock,v\n1,860,1\n1,900,2\n", "day,clock", `line 2, column 2 (clock): "860" is no time of the day`},
		{"day,clock,v\n1,2500,1\n", "day,clock", `"2500" is no time of the day`},
		{"day,clock,v\n1,9:00,1\n1,910,2\n", "day,clock", `"910" is not written as`},
		{"day,clock,v\n1.5,900,1\n", "day,clock", `"1.5" is no day`},
		{"day,clock,v\n1,800,1\n1,810,2\n1,817,3\n1,830,4\n", "day,clock", "day 1, 08:"},
		{"day,clock,v\n1,800,1\n1,800,2\n", "day,clock", "the time day 1, 08:00 is there twice"},
		{"day,clock,v\n1,800,1\n", "day,clock,v", "in one column, or in two"},
		{"day,clock,v\n1,800,1\n1,900,1\n", "day,hour", "--time hour: there is no such column"},
	} {
		path := filepath.Join(write(t, map[string]string{"a.csv": c.text}), "a.csv")
		if _, err := Read([]string{path}, Options{Observe: []string{"v"}, Time: c.time}); !errors.Is(err, ErrData) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q --time %s: got %v, want %q in it", c.text, c.time, err, c.want)
		}
	}
}

// What Options can name are the columns of a table and the arrays of a file.
func TestColumnsOf(t *testing.T) {
	dir := write(t, map[string]string{
		"a.csv": "\"\",day,v\n1,2,3\n", "b.npz": npz(t, named{"speed", []int{3, 1}, []float32{1, 2, 3}}, named{"u", []int{3, 1}, []float32{0, 1, 2}}),
	})
	for path, want := range map[string]string{"a.csv": "column1 day v", "b.npz": "speed u"} {
		if got, err := ColumnsOf([]string{filepath.Join(dir, path)}); err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %v, %v; want %s", path, got, err, want)
		}
	}
	if _, err := ColumnsOf([]string{filepath.Join(dir, "none.csv")}); err == nil {
		t.Error("a file that is not there has columns")
	}
}

// Days and times of the day are guessed where they are a time together, and where other readings are less likely.
func TestGuess_DaysAndTimesOfTheDay(t *testing.T) {
	for _, c := range []guessed{
		{"dates", "date,time,v\n2024-01-01,23:00,1.5\n2024-01-01,23:30,2\n2024-01-02,00:00,3\n2024-01-02,00:30,4\n", "v", "date,time", ""},
		{"several recordings", "site,date,time,v\nA,2024-01-01,23:00,1.5\nA,2024-01-02,00:00,2\nA,2024-01-02,01:00,2\nB,2024-01-01,23:00,3\nB,2024-01-02,00:00,4\nB,2024-01-02,01:00,4\n", "v", "date,time", "site"},
		{"hours", "date,hr,v\n2024-01-01,22,1.5\n2024-01-01,23,2\n2024-01-02,0,3\n2024-01-02,1,4\n", "v", "date,hr", ""},
		{"dates that are no days", "date,time,v\n2024-01-01 09:00,23:00,1.5\n2024-01-01 09:00,23:30,2\n2024-01-02 09:00,0:00,3\n2024-01-02 09:00,0:30,4\n", "v", "date", ""},
		{"steps of trials", "day,time,v\n1,0,1.5\n1,50,2\n1,100,2\n1,150,2\n2,0,3\n2,50,4\n2,100,4\n2,150,4\n", "v", "time", ""},
		{"a day's counter", "day,time,v\n1,0,1.5\n1,1,2\n1,2,2\n2,0,3\n2,1,4\n2,2,4\n", "v", "time", ""},
	} {
		c.check(t)
	}
}

// TestTimes_HoursAndMinutesBehindMidnight: times of the day without a day begin again at midnight.
func TestTimes_HoursAndMinutesBehindMidnight(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("time,y\n")
	for m := 22 * 60; m < 24*60; m += 10 {
		fmt.Fprintf(&b, "%d,%d\n", m/60*100+m%60, m)
	}
	e := readAs(t, Options{Time: "time", Observe: []string{"y"}}, b.String()).Episodes[0]
	for after, want := range []string{"0", "10", "20", "30", "40", "50", "100"} {
		if got := e.Times.Text(e.T + after); got[0] != want {
			t.Errorf("%d steps after 2350 it is %s, want %s", after+1, got[0], want)
		}
		if steps, _, err := e.Times.Steps([][]string{{want}}, e.T+after, 1); err != nil || steps[0] != e.T+after {
			t.Errorf("%s is at %d, %v, want %d", want, steps, err, e.T+after)
		}
	}
}

// TestTimes_FractionsInTwoColumns: times of the day beside a day keep the fractions of their seconds, and what rounds
// up to midnight is of the next day.
func TestTimes_FractionsInTwoColumns(t *testing.T) {
	t.Parallel()
	halves := "date,clock,y\n2024-01-01,23:59:58.5,1\n2024-01-01,23:59:59.0,2\n2024-01-01,23:59:59.5,3\n"
	// Steps of 20.4 s in whole seconds: the fifth row is at 23:59:59.6.
	rounded := "date,clock,y\n2024-01-01,23:58:38,1\n2024-01-01,23:58:58,2\n2024-01-01,23:59:19,3\n" +
		"2024-01-01,23:59:39,4\n2024-01-02,00:00:00,5\n2024-01-02,00:00:20,6\n"
	for _, c := range []struct {
		text string
		step int
		want []string
	}{
		{halves, 1, []string{"2024-01-01", "23:59:59.0"}},
		{halves, 2, []string{"2024-01-01", "23:59:59.5"}},
		{halves, 3, []string{"2024-01-02", "00:00:00.0"}},
		{halves, 4, []string{"2024-01-02", "00:00:00.5"}},
		{rounded, 3, []string{"2024-01-01", "23:59:39"}},
		{rounded, 4, []string{"2024-01-02", "00:00:00"}},
		{rounded, 5, []string{"2024-01-02", "00:00:20"}},
	} {
		times := episodeTimes(t, c.text, c.text, Options{Time: "date,clock"})
		equal(t, fmt.Sprintf("step %d of %s", c.step, c.text), times.Text(c.step), c.want)
		if step, err := stepAt(times, c.want...); err != nil || step != c.step {
			t.Errorf("%v is step %d (%v), want %d", c.want, step, err, c.step)
		}
	}
}

// TestThroughMidnight: each time of the day that falls back begins a new day, in a time that grows with their number
// alone.
func TestThroughMidnight(t *testing.T) {
	t.Parallel()
	const n = 150_000
	times := make([]float64, n)
	for i := range times {
		times[i] = []float64{0.25, 30_000, 60_000}[i%3]
	}
	begun := time.Now()
	throughMidnight(times)
	if took := time.Since(begun); took > 2*time.Second {
		t.Errorf("%d times took %v", n, took)
	}
	for i, at := range times {
		if want := []float64{0.25, 30_000, 60_000}[i%3] + float64(day*(i/3)); at != want {
			t.Fatalf("time %d is %v, want %v", i, at, want)
		}
	}
	half := []float64{50_000, 50_000 - day/2, 100, 43_300, 43_299}
	throughMidnight(half)
	equal(t, "half a day", half, []float64{50_000, 50_000 - day/2, 100, 43_300, 43_299})
}
