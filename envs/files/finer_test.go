package files

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestTimes_StepsFinerThanTheirColumn: the steps that were asked for with --resample are written so that each can be
// told from the others, in the form of the column as far as that does, and read back.
func TestTimes_StepsFinerThanTheirColumn(t *testing.T) {
	t.Parallel()
	minutes := "840,1\n850,2\n900,3\n910,4\n920,5\n930,6\n"
	for _, c := range []struct {
		name, text, time, step string
		want                   string // the first three, each as its columns
	}{
		{"decimals", "t,y\n0.0,1\n0.1,2\n0.2,3\n0.9,4\n", "t", "0.25", "0.00 0.25 0.50"},
		{"loose decimals", "t,y\n0,1\n0.1,2\n0.2,3\n0.9,4\n", "t", "0.125", "0 0.125 0.25"},
		{"seconds since 1970", "ts,y\n1700000000.0,1\n1700000000.1,2\n1700000000.4,3\n", "ts", "1ms", "1700000000.000 1700000000.001 1700000000.002"},
		{"long steps", "t,y\n0.0,1\n0.1,2\n0.2,3\n0.9,4\n", "t", "0.5", "0.0 0.5 1.0"},
		{"days", "t,y\n" + days("2024-02-20", "2006-01-02", 9, 1, 0), "t", "12h", "2024-02-20 00:00|2024-02-20 12:00|2024-02-21 00:00"},
		{"days first", "t,y\n" + days("2024-02-20", "02/01/2006", 9, 1, 0), "t", "12h", "2024-02-20 00:00|2024-02-20 12:00|2024-02-21 00:00"},
		{"days in words", "t,y\n" + days("2024-02-20", "2 Jan 2006", 9, 1, 0), "t", "2d", "20 Feb 2024|22 Feb 2024|24 Feb 2024"},
		{"minutes", "t,y\n2024-02-20 10:00,1\n2024-02-20 10:01,2\n", "t", "20s", "2024-02-20 10:00:00|2024-02-20 10:00:20|2024-02-20 10:00:40"},
		{"seconds", "t,y\n2024-02-20 10:00:00,1\n2024-02-20 10:00:01,2\n", "t", "125ms", "2024-02-20 10:00:00|2024-02-20 10:00:00.125|2024-02-20 10:00:00.25"},
		{"with an offset", "t,y\n2024-02-20T10:00+02:00,1\n2024-02-20T10:01+02:00,2\n", "t", "20s", "2024-02-20T10:00:00+02:00 2024-02-20T10:00:20+02:00 2024-02-20T10:00:40+02:00"},
		{"months", "t,y\n" + days("2020-01-01", "2006-01", 9, 0, 1), "t", "1w", "2019-12-30 2020-01-06 2020-01-13"},
		{"codes", "month,y\n" + days("2020-01-01", "200601", 24, 0, 1), "month", "1w", "2019-12-30 2020-01-06 2020-01-13"},
		{"quarters", "t,y\n1959Q1,1\n1959Q2,2\n1959Q3,3\n", "t", "1mo", "1959-01-01 1959-02-01 1959-03-01"},
		{"longer than quarters", "t,y\n1959Q1,1\n1959Q2,2\n1959Q3,3\n", "t", "2q", "1959Q1 1959Q3 1960Q1"},
		{"times of the day", "t,y\n10:00,1\n10:01,2\n10:02,3\n", "t", "30s", "10:00:00 10:00:30 10:01:00"},
		{"hours and minutes", "t,y\n" + minutes, "t", "30s", "08:40:00 08:40:30 08:41:00"},
		{"hours and whole minutes", "t,y\n" + minutes, "t", "5min", "840 845 850"},
		{"hours beside days", "t,hour,y\n2024-02-20,22,1\n2024-02-20,23,2\n2024-02-21,0,3\n", "t,hour", "30min", "2024-02-20,22:00 2024-02-20,22:30 2024-02-20,23:00"},
		{"whole hours beside days", "t,hour,y\n2024-02-20,22,1\n2024-02-20,23,2\n2024-02-21,0,3\n", "t,hour", "2h", "2024-02-20,22 2024-02-21,0 2024-02-21,2"},
		{"minutes beside numbers", "t,hour,y\n5,2258,1\n5,2259,2\n5,2300,3\n", "t,hour", "20s", "5,22:58:00 5,22:58:20 5,22:58:40"},
		{"parts", "year,month,y\n" + days("2020-01-01", "2006,1", 24, 0, 1), "year,month", "1q", "2020,1 2020,4 2020,7"},
	} {
		times := episodeTimes(t, c.name, c.text, Options{Time: c.time, Observe: []string{"y"}, Resample: c.step})
		if times == nil {
			continue
		}
		var got []string
		for step := range 20 {
			text := times.Text(step)
			got = append(got, strings.Join(text, ","))
			if back, err := stepAt(times, text...); err != nil || back != step {
				t.Errorf("%s: %v is step %d (%v), want %d", c.name, text, back, err, step)
			}
		}
		sign := " "
		if strings.Contains(c.want, "|") {
			sign = "|"
		}
		equal(t, c.name, got[:3], strings.Split(c.want, sign))
	}
}

// TestTimes_StepsThatNoFormWrites: steps that the columns cannot have are refused, with what to do.
func TestTimes_StepsThatNoFormWrites(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, time, step, want string }{
		{"year,month,y\n2020,1,1\n2020,2,2\n2020,3,3\n", "year,month", "1w", "--resample 1w: the columns year and month cannot tell its steps apart; take a longer step, e.g. --resample 1mo"},
		{"year,quarter,y\n2020,1,1\n2020,2,2\n2020,3,3\n", "year,quarter", "1mo", "e.g. --resample 1q"},
		{"year,month,day,y\n2020,1,1,1\n2020,1,2,2\n2020,1,3,3\n", "year,month,day", "12h", "e.g. --resample 1d"},
		{"ts,y\n1700000000000000000,1\n1700000000000000001,2\n1700000000000000002,3\n", "ts", "0.5", "--resample 0.5: the times are whole numbers"},
		{"t,y\n2024-02-20 10:00:00,1\n2024-02-20 10:00:00.000010,2\n", "t", "0.0001ms", "--resample 0.0001ms: column t cannot tell its steps apart"},
	} {
		path := filepath.Join(write(t, map[string]string{"a.csv": c.text}), "a.csv")
		if _, err := Read([]string{path}, Options{Time: c.time, Observe: []string{"y"}, Resample: c.step}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s of %s: got %v, want %q in it", c.step, c.time, err, c.want)
		}
	}
}

// TestTimes_FinerStepsOfArrays: times of arrays have the digits that a step needs, too.
func TestTimes_FinerStepsOfArrays(t *testing.T) {
	t.Parallel()
	y := named{"y", []int{1, 3, 1}, []float32{1, 2, 3}}
	for _, c := range []struct {
		name, step string
		times      named
		want       []string
	}{
		{"float32", "0.125", named{"t", []int{1, 3}, []float32{1_000_000, 1_000_000.5, 1_000_001}}, []string{"1000000", "1000000.125", "1000000.25"}},
		{"dates", "12h", named{"t", nil, []string{"2024-02-20", "2024-02-21", "2024-02-22"}}, []string{"2024-02-20 00:00", "2024-02-20 12:00", "2024-02-21 00:00"}},
	} {
		d := mustRead(t, Options{Resample: c.step}, filepath.Join(write(t, map[string]string{"d.npz": npz(t, y, c.times)}), "d.npz"))
		var got []string
		for step := range 3 {
			got = append(got, d.Episodes[0].Times.Text(step)...)
		}
		equal(t, c.name, got, c.want)
	}
}
