package cmd

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A table of cases is one of 120 rows with a first column and a value, as reports of faults of other programs have them.
func caseTable(head, separator string, first func(i int) string) string {
	var b strings.Builder
	b.WriteString(head + "\n")
	for i := range 120 {
		fmt.Fprintf(&b, "%s%s%.3f\n", first(i), separator, 47+3*math.Sin(float64(i*i)))
	}
	return b.String()
}

// dates are those of a layout, so many steps apart.
func dates(layout string, years, months, days int, step time.Duration) func(i int) string {
	return func(i int) string {
		return time.Date(2021, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(i*years, i*months, i*days).Add(time.Duration(i) * step).Format(layout)
	}
}

// changed is a table with one row that another text stands in for.
func changed(table string, row int, text string) string {
	lines := strings.SplitAfter(table, "\n")
	lines[row] = text + "\n"
	return strings.Join(lines, "")
}

var (
	dailyCase  = caseTable("date,y", ",", dates("2006-01-02", 0, 0, 1, 0))
	hourlyCase = caseTable("time,y", ",", dates("2006-01-02 15:04", 0, 0, 0, time.Hour))
	countCase  = caseTable("time;y", ";", func(i int) string { return fmt.Sprint(i) })
)

// readCases are tables that other programs read wrongly without a word: what data info says of them.
var readCases = []struct {
	name, text string
	code       int
	want       string // what data info says, with single spaces
}{
	{"long_dup", "unique_id,ds,y\nA,2020-01-01,1\nA,2020-01-02,2\nA,2020-01-03,3\nB,2020-01-01,4\nB,2020-01-01,9\nB,2020-01-02,5\nB,2020-01-03,6\n", exitData, "line 6: the time 2020-01-01 is there twice"},
	{"dst_naive_autumn", changed(hourlyCase, 52, "2021-01-03 02:00,4"), exitData, "the time 2021-01-03 02:00:00 is there twice"},
	{"dup", dailyCase + "2021-04-30,3\n", exitData, "line 122: the time 2021-04-30 is there twice"},
	{"unsorted", changed(dailyCase, 2, "2021-03-22,4"), exitData, "t goes from 2021-03-22 to 2021-01-03 hint: sort the rows by time"},
	{"leapsec", caseTable("time,y", ",", func(i int) string {
		at := time.Date(2016, 12, 31, 23, 59, i-min(1, i/61), 0, time.UTC).Format("2006-01-02T15:04:05Z")
		if i == 60 {
			at = "2016-12-31T23:59:60Z"
		}
		return at
	}), exitData, "the time 2017-01-01 is there twice"},
	{"feb30", changed(dailyCase, 60, "2021-02-30,4"), exitData, `line 61, column 1 (date): "2021-02-30" is no time`},
	{"date_blank", changed(dailyCase, 60, ",4"), exitData, `line 61, column 1 (date): "" is no time`},
	{"epoch_ns_jit", caseTable("time,y", ",", func(i int) string { return fmt.Sprint(1700000000000000000 + 100*i + i%3) }), exitOK, "dt 100"},
	{"epoch_ns_uneven", changed(caseTable("time,y", ",", func(i int) string { return fmt.Sprint(1700000000000000000 + 100*i) }), 60, "1700000000000005937,4"), exitOK, "env.resample=100"},
	{"dmy", caseTable("date,y", ",", dates("02/01/2006", 0, 0, 1, 0)), exitOK, "120 steps in all a step 1 observation, 0 controls dt 1 day"},
	{"mdy", caseTable("date,y", ",", dates("01/02/2006", 0, 0, 1, 0)), exitOK, "120 steps in all a step 1 observation, 0 controls dt 1 day"},
	{"ambig_month", caseTable("date,y", ",", dates("02/01/2006", 0, 1, 0, 0)), exitOK, "the dates are read with the day first: only so are they evenly spaced"},
	{"ambig_uneven", "date,y\n01/02/2021,1\n02/05/2021,2\n04/06/2021,3\n07/08/2021,4\n", exitData, "say which comes first: --dates day-first or --dates month-first"},
	{"ampm", caseTable("time,y", ",", dates("01/02/2006 03:04:05 PM", 0, 0, 0, time.Hour)), exitOK, "120 steps in all a step 1 observation, 0 controls dt 1 h"},
	{"d_mon_y", caseTable("month,y", ",", dates("02-Jan-06", 0, 1, 0, 0)), exitOK, "120 steps in all a step 1 observation, 0 controls dt 1 month"},
	{"isoweek", caseTable("week,y", ",", func(i int) string {
		year, week := time.Date(2020, 1, 6+7*i, 0, 0, 0, 0, time.UTC).ISOWeek()
		return fmt.Sprintf("%d-W%02d", year, week)
	}), exitOK, "120 steps in all a step 1 observation, 0 controls dt 7 day"},
	{"utc_word", caseTable("date,y", ",", dates("2006-01-02 15:04:05 UTC", 0, 0, 0, time.Hour)), exitOK, "dt 1 h"},
	{"off0000", caseTable("date,y", ",", dates("2006-01-02 15:04:05+0000", 0, 0, 0, time.Hour)), exitOK, "dt 1 h"},
	{"zone_name", caseTable("date,y", ",", dates("2006-01-02 15:04:05 CET", 0, 0, 0, time.Hour)), exitData, "the names of zones are not known: write the offset from UTC"},
	{"yyyymm", caseTable("date,y", ",", dates("200601", 0, 1, 0, 0)), exitOK, "120 steps in all a step 1 observation, 0 controls dt 1 month missing 0 of 120"},
	{"nohead", strings.TrimPrefix(strings.ReplaceAll(countCase, ";", ","), "time,y\n"), exitOK, "missing 0 of 120 values"},
	{"nohead, said", strings.TrimPrefix(strings.ReplaceAll(countCase, ";", ","), "time,y\n"), exitOK, "the first line holds numbers, not names: it is read as a row"},
	{"cp1252", strings.Replace(countCase, "time;y", "time;y_Temp \xb0C", 1), exitOK, "the text is not UTF-8: it is read as Windows-1252"},
	{"cp1252, name", strings.Replace(countCase, "time;y", "time;y_Temp \xb0C", 1), exitOK, "y_Temp °C"},
	{"sep", "sep=;\n" + strings.ReplaceAll(countCase, ".", ","), exitOK, "120 steps in all"},
	{"cr", strings.ReplaceAll(countCase, "\n", "\r"), exitOK, "120 steps in all"},
	{"thousands", changed(strings.ReplaceAll(countCase, ";", ","), 2, `1,"50,346.00"`), exitData, "it has commas for thousands: leave them out"},
	{"euro", changed(countCase, 2, "1;50.346,00"), exitData, "it has points for thousands: leave them out"},
	{"meta", "Station: 42\nUnit: C\ntime,y\n0,1\n1,2\n", exitData, "leave out the lines before the names, or begin them with #"},
	{"unitsrow", "t,v\ns,m/s\n0,0.126\n1,0.5\n2,0.4\n", exitData, "line 2: it holds units, not values hint: leave it out"},
	{"unitsrow, no times", "speed,force\nm/s,N\n1,0.126\n2,0.5\n3,0.4\n", exitData, "line 2: it holds units, not values"},
	{"unitsrow, y", "t,y\ns,m/s\n0,0.126\n1,0.5\n2,0.4\n", exitData, "line 2: it holds units, not values"},
	{"space", strings.ReplaceAll(countCase, ";", " "), exitData, "its columns seem to be separated by spaces: separate them by commas"},
	{"pipe", strings.ReplaceAll(countCase, ";", "|"), exitOK, "120 steps in all a step 1 observation, 0 controls dt 1"},
	{"xyz", "t,x,y,z\n0.00,5,10,15.5\n0.01,6,12,18.5\n0.02,5,11,17.5\n0.03,7,10,16.5\n", exitOK, "y_x 5 7 5.75"},
	{"xyz_int", "t,x,y,z\n0,503,1006,5\n1,511,1023,5\n2,507,1010,4\n3,500,1005,5\n", exitOK, "3 observations"},
	{"bigint", "t,y\n0,9007199254740993\n1,9007199254740994\n2,9007199254740995\n", exitData, "column 2 (y): the whole number 9007199254740993 has more digits than float64 holds hint: subtract an offset"},
	{"tok20", changed(changed(countCase, 9, "8;-9999"), 30, "29;-9999"), exitOK, "-9,999 occurs 2 times, far from all other values: if it marks a missing value"},
	{"inf", changed(countCase, 9, "8;inf"), exitData, "line 10, column 2 (y): the value +Inf is beyond the range of float32"},
	{"weeks as numbers", caseTable("week,y", ",", func(i int) string {
		year, week := time.Date(2020, 1, 6+7*i, 0, 0, 0, 0, time.UTC).ISOWeek()
		return fmt.Sprintf("%d%02d", year, week)
	}), exitOK, "120 steps in all a step 1 observation, 0 controls dt 7 day missing 0 of 120"},
	{"days of years as numbers", caseTable("day,y", ",", func(i int) string {
		return time.Date(2020, 11, 1+i, 0, 0, 0, 0, time.UTC).Format("2006002")
	}), exitOK, "120 steps in all a step 1 observation, 0 controls dt 1 day missing 0 of 120"},
	{"months and years", caseTable("month,y", ",", dates("01/2006", 0, 1, 0, 0)), exitOK, "dt 1 month"},
	{"percent", changed(countCase, 9, "8;50.35 %"), exitData, "leave out what stands beside the number"},
	{"currency", changed(countCase, 9, "8;€50.35"), exitData, "leave out what stands beside the number"},
	{"apostrophes", changed(countCase, 9, "8;1'050.35"), exitData, "it has signs for thousands: leave them out"},
	{"dots", changed(changed(countCase, 9, "8;."), 30, "29;-"), exitOK, "missing 2 of 120 values"},
}

// TestCases_Read: what data info says of each.
func TestCases_Read(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	for _, test := range readCases {
		path := filepath.Join(t.TempDir(), "case.csv")
		if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		r := c.run("data", "info", path)
		said := strings.Join(strings.Fields(r.out+r.err), " ")
		if r.code != test.code || !strings.Contains(said, test.want) {
			t.Errorf("%s: exit code %d, want %d; %q is to be in\n%s%s", test.name, r.code, test.code, test.want, r.out, r.err)
		}
		if test.code == exitOK {
			if r := c.run("train", "files", "env.files="+path, "env.window=6", "--dry-run"); r.code != exitOK && !strings.Contains(r.err, "too few") &&
				!strings.Contains(r.err, "cannot be divided") {
				t.Errorf("%s: training reads it otherwise: %s", test.name, r.err)
			}
		}
	}
}

// TestCases_Alternating: where every row misses one of two channels, a model is trained and scored, and the rule that has
// no data says so.
func TestCases_Alternating(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	path := filepath.Join(t.TempDir(), "alternating.csv")
	var b strings.Builder
	b.WriteString("y1,y2\n")
	for i := range 200 {
		if v := math.Sin(float64(i) / 5); i%2 == 0 {
			fmt.Fprintf(&b, "%.4f,\n", v)
		} else {
			fmt.Fprintf(&b, ",%.4f\n", -v)
		}
	}
	writeFile(t, path, b.String())
	c.must(append([]string{"train", "files", "env.files=" + path, "--name", "own"}, small...)...)
	r := c.must("backtest", "own", "--horizon", "3")
	if !strings.Contains(r.out, "Linear has no data: no two steps") || !strings.Contains(r.out, "persistence") {
		t.Errorf("got\n%s", r.out)
	}
	var scores struct {
		Metrics struct {
			Error []*float64 `json:"error"`
		}
	}
	if err := json.Unmarshal([]byte(c.must("backtest", "own", "--horizon", "3", "--json").out), &scores); err != nil || len(scores.Metrics.Error) != 3 || scores.Metrics.Error[0] == nil {
		t.Errorf("the model has no score: %v, %v", scores, err)
	}
}

// TestCases_TailIsMissing: forecasts after missing steps are those of an autoregression that has gone on for as long,
// for the families that know no state; differences add up.
func TestCases_TailIsMissing(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	dir := t.TempDir()
	series := func(name string, value func(i int) float64, n, missing int) string {
		var b strings.Builder
		b.WriteString("y\n")
		for i := range n {
			if i >= n-missing {
				b.WriteString("nan\n")
			} else {
				fmt.Fprintf(&b, "%.6g\n", value(i))
			}
		}
		path := filepath.Join(dir, name+".csv")
		writeFile(t, path, b.String())
		return path
	}
	first := func(words ...string) (mean, width float64) {
		c.must(append([]string{"train", "files", "--name", words[0], "--quiet"}, words[1:]...)...)
		out := filepath.Join(dir, words[0]+".npz")
		c.must("forecast", words[0], "--horizon", "1", "--samples", "2000", "--quantiles", "0.05,0.95", "--out", out)
		_, values := npz(t, out)
		return values["mean"][0], values["quantiles"][1] - values["quantiles"][0]
	}
	trend := func(i int) float64 { return 1000 + 10*float64(i) + 0.1*math.Sin(float64(i*i)) }
	if mean, _ := first("trend5", "env.files="+series("trend5", trend, 600, 5), "env.transform=diff", "model.kind=arhmm", "model.switches=1",
		"model.sweeps=4", "model.exchange=2", "model.chains=1"); math.Abs(mean-7000) > 3 {
		t.Errorf("differences of five missing steps: %v, want 7000", mean)
	}
	state, draws := 0.0, rand.New(rand.NewPCG(24, 6))
	ar := make([]float64, 3001)
	for i := range ar {
		state = 0.9*state + 50*draws.NormFloat64()
		ar[i] = 1000 + state
	}
	ar[3000] = 1300
	for _, kind := range []string{"linear", "lstm"} {
		words := []string{"model.kind=" + kind, "env.window=25", "train.batch=32", "train.steps=1200", "optim.rate=3e-3", "train.validate_every=300"}
		if kind == "lstm" {
			words = append(words, "model.hidden=16")
		}
		value := func(i int) float64 { return ar[min(i, 3000)] }
		mean, width := first(append([]string{kind + "0", "env.files=" + series(kind+"0", value, 3001, 0)}, words...)...)
		later, wider := first(append([]string{kind + "8", "env.files=" + series(kind+"8", value, 3009, 8)}, words...)...)
		if math.Abs(mean-1270) > 25 || math.Abs(later-(1000+300*math.Pow(0.9, 9))) > 45 || !(wider > 1.5*width) {
			t.Errorf("%s: %.0f ± %.0f at once, %.0f ± %.0f after eight missing steps; want 1270 and 1116, and twice as wide", kind, mean, width/2, later, wider/2)
		}
	}
}
