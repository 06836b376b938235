package files

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestTimes_OfTheParts: parts of a date in columns of their own are found, are one time, and are written apart again.
func TestTimes_OfTheParts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		columns, unit string
		rows, follow  []string
	}{
		{"year,month", "month", []string{"2023,11", "2023,12", "2024,1"}, []string{"2024,2", "2024,3"}},
		{"Year,Mon", "month", []string{"2023,Nov", "2023,Dec", "2024,Jan"}, []string{"2024,Feb", "2024,Mar"}},
		{"year,month,day", "day", []string{"2024,2,27", "2024,2,28"}, []string{"2024,2,29", "2024,3,1"}},
		{"year,month,day", "day", []string{"2024,02,08", "2024,02,09"}, []string{"2024,02,10", "2024,02,11"}},
		{"year,month,day,hour", "h", []string{"2010,12,31,22", "2010,12,31,23"}, []string{"2011,1,1,0", "2011,1,1,1"}},
		{"year,quarter", "month", []string{"1959,3", "1959,4"}, []string{"1960,1", "1960,2"}},
		{"year,qtr", "month", []string{"1959,Q3", "1959,Q4"}, []string{"1960,Q1", "1960,Q2"}},
	} {
		text := c.columns + ",pm\n"
		for i, row := range c.rows {
			text += fmt.Sprintf("%s,%d\n", row, i*i)
		}
		guessed{c.columns, text, "pm", c.columns, ""}.check(t)
		times := episodeTimes(t, c.columns, text, Options{Time: c.columns, Observe: []string{"pm"}})
		if times == nil {
			continue
		}
		if got := strings.Join(times.Columns, ","); got != c.columns || times.grid.unit != c.unit {
			t.Errorf("%s: columns %s, steps of a %s", c.columns, got, times.grid.unit)
		}
		for i, want := range slices.Concat(c.rows, c.follow) {
			if got := strings.Join(times.Text(i), ","); got != want {
				t.Errorf("%s: step %d is %s, want %s", c.columns, i, got, want)
			}
			if step, err := stepAt(times, strings.Split(want, ",")...); err != nil || step != i {
				t.Errorf("%s: %s is step %d (%v), want %d", c.columns, want, step, err, i)
			}
		}
	}
}

// TestGuess_TimesOfAnyName: months that are numbers, times of the day, and parts of dates within recordings are times.
func TestGuess_TimesOfAnyName(t *testing.T) {
	t.Parallel()
	for _, c := range []guessed{
		{"years and months", "period,v\n200510,1\n200511,2\n200512,5\n200601,4\n200602,7\n200603,6\n", "v", "period", ""},
		{"times of the day", "clock,v\n09:00,1\n09:10,4\n09:20,3\n", "v", "clock", ""},
		{"a day and times of the day", "date,clock,v\n2024-01-01,09:00,1\n2024-01-01,09:10,4\n2024-01-02,09:00,3\n", "v", "date,clock", ""},
		{"parts within recordings", "station,year,month,v\nA,2023,12,1\nA,2024,1,2\nB,2023,12,5\nB,2024,1,4\n", "v", "year,month", "station"},
		{"days that are numbers, of shops", "shop,day,sales\nA,1,3\nA,2,4\nA,3,9\nB,1,5\nB,2,7\nB,3,6\n", "sales", "day", "shop"},
		{"hours of days that are not there", "shop,hour,sales\nA,9,3\nA,11,4\nA,12,9\nB,9,5\nB,10,7\nB,12,6\n", "sales", "", ""},
		{"a text that is no time", "date,v\nspring,1\nsummer,2\nautumn,5\nwinter,4\n", "v", "date", ""},
	} {
		c.check(t)
	}
}

// TestRead_PartsInAnotherOrder are refused: they would be read as days and times of the day.
func TestRead_PartsInAnotherOrder(t *testing.T) {
	t.Parallel()
	path := write(t, map[string]string{"a.csv": "month,year,y\n1,2010,1\n2,2010,2\n3,2010,4\n"})
	if _, err := Read([]string{path}, Options{Time: "month,year"}); err == nil || !strings.Contains(err.Error(), "year,month,day") {
		t.Errorf("got %v", err)
	}
}

// TestRead_ThroughMidnight: times of the day go on behind midnight; one that is there twice is said as the file has it; a
// column of them with a gap, beside others, is not a time.
func TestRead_ThroughMidnight(t *testing.T) {
	t.Parallel()
	d := readAs(t, Options{Time: "time"}, "time,y\n23:50,1\n23:55,2\n00:00,4\n00:05,3\n")
	if d.Spec.DT != 5 || d.TimeUnit != "min" || d.Episodes[0].T != 4 || d.Episodes[0].Times.Text(4)[0] != "00:10" {
		t.Errorf("%d steps of %v %s, then %s", d.Episodes[0].T, d.Spec.DT, d.TimeUnit, d.Episodes[0].Times.Text(4))
	}
	path := write(t, map[string]string{"a.csv": "time,y\n14:30,1\n14:30,2\n14:31,3\n"})
	if _, err := Read([]string{path}, Options{Time: "time"}); err == nil || !strings.Contains(err.Error(), "the time 14:30 is there twice") || !strings.Contains(err.Error(), "--time none") {
		t.Errorf("got %v", err)
	}
	text := "flow,sunrise\n"
	for i := range 12 {
		at := fmt.Sprintf("06:%02d", 30-i)
		if i == 5 {
			at = ""
		}
		text += fmt.Sprintf("%d,%s\n", i*i%7, at)
	}
	guessed{"sunrise", text, "flow", "", ""}.check(t)
}

// TestRead_TheOrderThatIsEven: where every date can be read in two ways, that counts in which they are evenly spaced; if both
// are, nothing is decided.
func TestRead_TheOrderThatIsEven(t *testing.T) {
	t.Parallel()
	begin := time.Date(2021, 3, 1, 0, 0, 0, 0, time.UTC)
	for layout, first := range map[string]string{"01/02/2006 03:04 PM": "month", "02/01/2006 03:04 PM": "day"} {
		text := "when,y\n"
		for i := range 60 {
			text += fmt.Sprintf("%s,%d\n", begin.Add(time.Duration(i)*time.Hour).Format(layout), i)
		}
		d := readAs(t, Options{Time: "when"}, text)
		if d.TimeUnit != "h" || d.Spec.DT != 1 || !slices.Contains(d.Notes, "the dates are read with the "+first+" first: only so are they evenly spaced") {
			t.Errorf("%s: steps of %v %s, notes %q", layout, d.Spec.DT, d.TimeUnit, d.Notes)
		}
		if got := d.Episodes[0].Times.Text(60)[0]; got != begin.Add(60*time.Hour).Format(layout) {
			t.Errorf("%s: %s follows", layout, got)
		}
	}
	text := "when,y\n"
	for month := 1; month <= 12; month++ { // the first days of months, or the first twelve days of January
		text += fmt.Sprintf("01/%02d/2021,%d\n", month, month)
	}
	path := write(t, map[string]string{"a.csv": text})
	if _, err := Read([]string{path}, Options{Time: "when"}); err == nil || !strings.Contains(err.Error(), "01/02/2021 may be 1 February 2021 or 2 January 2021") {
		t.Errorf("got %v", err)
	}
}

// TestRead_DatesAndTimesOfTheDayDoNotMix: a time of the day among dates, and a date among times of the day, is no time.
func TestRead_DatesAndTimesOfTheDayDoNotMix(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"when,y\n2024-01-01,1\n2024-01-02,2\n14:30,3\n", "when,y\n14:30,1\n14:40,2\n2024-01-01,3\n", "when,y\n14:30,1\n14:40,2\n13/01/2021,3\n"} {
		path := write(t, map[string]string{"a.csv": text})
		if _, err := Read([]string{path}, Options{Time: "when"}); err == nil || !strings.Contains(err.Error(), "line 4, column 1 (when)") {
			t.Errorf("%q: got %v", text, err)
		}
	}
}
