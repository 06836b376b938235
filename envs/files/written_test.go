package files

import (
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// followers are the times of a table of one column of times, and n that follow.
func followers(t *testing.T, list []string, n int) []string {
	t.Helper()
	var b strings.Builder
	b.WriteString("when;y\n")
	for i, at := range list {
		fmt.Fprintf(&b, "%s;%d\n", at, i)
	}
	times := episodeTimes(t, list[0], b.String(), Options{Time: "when"})
	if times == nil {
		t.FailNow()
	}
	var texts []string
	for i := range len(list) + n {
		texts = append(texts, times.Text(i)[0])
	}
	return texts
}

// TestTimes_WholeNumbersKeepTheirSteps: large whole numbers whose mean step is none, as of 30 pictures a second, are
// written as whole numbers that are told apart.
func TestTimes_WholeNumbersKeepTheirSteps(t *testing.T) {
	t.Parallel()
	var pictures, seconds []string
	for i := range 100 {
		pictures = append(pictures, fmt.Sprint(1700000000000+int(math.Round(float64(i)*100/3))))
	}
	for i := range 61 {
		seconds = append(seconds, fmt.Sprint(1600000000+60*i+i/60))
	}
	got := followers(t, pictures, 3)
	if want := append(pictures, "1700000003333", "1700000003367", "1700000003400"); !slices.Equal(got, want) {
		t.Errorf("pictures: %v, want %v", got, want)
	}
	got = followers(t, seconds, 2)[61:]
	if want := []string{"1600003661", "1600003721"}; !slices.Equal(got, want) {
		t.Errorf("seconds: %v, want %v", got, want)
	}
	// Small numbers have six digits, as ever.
	got = followers(t, []string{"0", "33", "67", "100"}, 1)[4:]
	if want := []string{"133.333"}; !slices.Equal(got, want) {
		t.Errorf("small numbers: %v, want %v", got, want)
	}
	times := episodeTimes(t, "small steps", "t,y\n1000000,1\n1000001,2\n", Options{Resample: "0.125"})
	if got := times.Text(1)[0]; got != "1000000.125" {
		t.Errorf("small steps: %s", got)
	}
}

// TestTimes_FractionsOfSeconds: times that float64 holds a little below what the file wrote are written as it did.
func TestTimes_FractionsOfSeconds(t *testing.T) {
	t.Parallel()
	for _, format := range []string{
		"2006-01-02 15:04:05.000", "2006-01-02 15:04:05.00", "2006-01-02T15:04:05.000000Z07:00",
		"2006-01-02 15:04:05.999", "2006-01-02 15:04:05.0000000", "02/01/2006 15:04:05.000",
		"02.01.2006 15:04:05.000", "2.1.2006 15:04:05.00-07:00",
	} {
		var list []string
		for i := range 64 {
			at := time.Date(2024, 1, 13, 0, 0, 0, i*10_000_000, time.UTC)
			list = append(list, at.Format(format))
		}
		if got := followers(t, list[:60], 4); !slices.Equal(got, list) {
			t.Errorf("%s: %v, want %v", format, got, list)
		}
	}
	// Seconds whose mean step is no whole number.
	list := []string{"2024-01-01 00:00:00", "2024-01-01 00:00:33", "2024-01-01 00:01:07", "2024-01-01 00:01:40"}
	want := append(list, "2024-01-01 00:02:13", "2024-01-01 00:02:47")
	if got := followers(t, list, 2); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestTimes_FractionsOfArrays: dates of arrays are written to the microsecond.
func TestTimes_FractionsOfArrays(t *testing.T) {
	t.Parallel()
	var milliseconds []int64
	for i := range 60 {
		milliseconds = append(milliseconds, 1704067200000+int64(10*i))
	}
	times := datedArray(t, Options{}, "ms", milliseconds)
	if got := times.Text(60)[0]; got != "2024-01-01 00:00:00.6" {
		t.Errorf("%s follows", got)
	}
}

// datedArray are the times of an episode of arrays whose dates are numbers of a unit since 1970, as NumPy has them, and
// whose observations are 0, 1, 2, …
func datedArray(t *testing.T, o Options, unit string, at []int64) *Times {
	t.Helper()
	var y []float32
	for i := range at {
		y = append(y, float32(i))
	}
	data := []byte(header("<M8["+unit+"]", false, fmt.Sprintf("(%d,)", len(at))))
	for _, v := range at {
		data = binary.LittleEndian.AppendUint64(data, uint64(v))
	}
	file := npz(t, named{"y", []int{1, len(y), 1}, y}, named{"t", nil, string(data)})
	return mustRead(t, o, filepath.Join(write(t, map[string]string{"d.npz": file}), "d.npz")).Episodes[0].Times
}

// TestTimes_NumbersOfArrays: whole numbers whose mean step is none are written as those of a table, and numbers with
// the digits that float32 has, where the array is one.
func TestTimes_NumbersOfArrays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		times any
		want  string // the time that follows the last
	}{
		{[]float64{0, 33, 67, 100}, "133.333"},
		{[]float32{0, 33, 67, 100}, "133.333"},
		{[]float64{1700000000000, 1700000000033, 1700000000067, 1700000000100}, "1700000000133"},
		{[]float64{1, 2, 3, 4}, "5"},
		{[]float64{0.1, 0.2, 0.1 + 0.2, 0.4}, "0.5"},
		{[]float64{0, 1.0 / 30, 2.0 / 30, 0.1}, "0.133333333333"},
		{[]float32{0.1, 0.2, 0.3, 0.4}, "0.5"},
		{[]float32{1000.1, 1000.2, 1000.3, 1000.4}, "1000.5"},
		{[]float32{1e-5, 2e-5, 3e-5, 4e-5}, "0.00005"},
		{[]float32{100000, 100000.5, 100001, 100001.5}, "100002"},
		{[]float32{18856.74, 18856.744, 18856.748, 18856.752}, "18856.7559"},
	} {
		file := npz(t, named{"y", []int{1, 4, 1}, []float32{1, 2, 3, 4}}, named{"t", []int{1, 4}, c.times})
		times := mustRead(t, Options{}, filepath.Join(write(t, map[string]string{"d.npz": file}), "d.npz")).Episodes[0].Times
		if got := times.Text(4)[0]; got != c.want {
			t.Errorf("%v: %s follows, want %s", c.times, got, c.want)
		}
		if step, err := stepAt(times, c.want); err != nil || step != 4 {
			t.Errorf("%v: %s is step %d (%v), want 4", c.times, c.want, step, err)
		}
	}
}

// TestTimes_StepOfDatesWithOffsets: a date with an offset is a moment, whatever the order of its parts; one without is
// by the clock of the file.
func TestTimes_StepOfDatesWithOffsets(t *testing.T) {
	t.Parallel()
	for _, format := range []string{
		"2006-01-02 15:04 -0700", "02/01/2006 15:04 -0700", "01/02/2006 15:04 -0700", "2-1-06 15:04:05-07:00",
	} {
		zone := time.FixedZone("", 2*3600)
		var list []string
		for i := range 8 {
			list = append(list, time.Date(2021, 1, 13, i, 0, 0, 0, zone).Format(format))
		}
		text := "when,y\n" + strings.Join(list, ",1\n") + ",1\n"
		times := episodeTimes(t, format, text, Options{Time: "when"})
		if times == nil {
			continue
		}
		next := time.Date(2021, 1, 13, 8, 0, 0, 0, zone)
		bare, _, _ := strings.Cut(next.Format(format), "+")
		for _, at := range []string{next.Format(format), next.UTC().Format(format), bare} {
			if step, err := stepAt(times, at); err != nil || step != 8 {
				t.Errorf("%s is step %d (%v), want 8", at, step, err)
			}
		}
	}
}

// TestTimes_StepOfALeapSecond: its offset counts, too.
func TestTimes_StepOfALeapSecond(t *testing.T) {
	t.Parallel()
	text := "when,y\n2016-12-31T18:59:58-05:00,1\n2016-12-31T18:59:59-05:00,2\n"
	times := episodeTimes(t, text, text, Options{Time: "when"})
	if step, err := stepAt(times, "2016-12-31T18:59:60-05:00"); err != nil || step != 2 {
		t.Errorf("the leap second is step %d (%v), want 2", step, err)
	}
}

// TestTimes_MonthEndsOfArrays: recordings at the ends of months stay there, whatever the day of the first.
func TestTimes_MonthEndsOfArrays(t *testing.T) {
	t.Parallel()
	var days []int64
	for i := range 40 {
		days = append(days, time.Date(2021, time.Month(3+i), 0, 0, 0, 0, 0, time.UTC).Unix()/day)
	}
	times := datedArray(t, Options{}, "D", days)
	if got, want := times.Text(40)[0]+" "+times.Text(41)[0], "2024-06-30 2024-07-31"; got != want {
		t.Errorf("%s follow, want %s", got, want)
	}
}

// TestTimes_OfResampledArrays are the begins of the steps, as those of the same rows in a table.
func TestTimes_OfResampledArrays(t *testing.T) {
	t.Parallel()
	var seconds []int64
	var table strings.Builder
	table.WriteString("t,y\n")
	for i := range 120 {
		at := time.Date(2021, 1, 14, 5+20*i, 0, 0, 0, time.UTC) // from a Thursday on
		seconds = append(seconds, at.Unix())
		fmt.Fprintf(&table, "%s,%d\n", at.Format(time.DateTime), i)
	}
	for _, step := range []string{"1mo", "1q", "1w", "1d", "1b", "36h"} {
		o := Options{Resample: step, Time: "t"}
		arrays, rows := datedArray(t, o, "s", seconds), episodeTimes(t, step, table.String(), o)
		for i := range 4 {
			at := rows.moment(i)
			if got := arrays.moment(i); got != at {
				t.Errorf("%s: step %d of arrays begins %v s after that of a table", step, i, got-at)
			}
			text := time.Unix(int64(at), 0).UTC().Format(time.DateTime)
			if n, err := stepAt(arrays, text); err != nil || n != i {
				t.Errorf("%s: step %d is read as %d (%v)", step, i, n, err)
			}
		}
	}
}

// TestTimes_CodesOfOneYear: months, weeks and days of one year are an even grid of numbers. Their heading says
// what they are.
func TestTimes_CodesOfOneYear(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		first, last int
		want        string
	}{
		{"month", 201901, 201912, "202001"},
		{"yyyymm", 201907, 201912, "202001"},
		{"date", 201904, 201912, "202001"},
		{"week", 202001, 202053, "202101"},
		{"week", 201901, 201912, "201913"},
		{"d", 2019335, 2019365, "2020001"},
		{"Day_of_year", 2020001, 2020366, "2021001"},
		{"count", 201901, 201912, "201913"},
		{"month", 201908, 201912, "201913"},  // too few to tell
		{"month", 201908, 201914, "201915"},  // no months
		{"day", 2019360, 2019366, "2019367"}, // no days of the year
		{"month", 1, 12, "13"},
	} {
		var b strings.Builder
		fmt.Fprintf(&b, "%s,y\n", c.name)
		for v := c.first; v <= c.last; v++ {
			fmt.Fprintf(&b, "%d,1\n", v)
		}
		times := episodeTimes(t, c.name, b.String(), Options{Time: c.name})
		if times == nil {
			continue
		}
		n := c.last - c.first + 1
		if got := times.Text(n)[0]; got != c.want {
			t.Errorf("%s: %s follows %d, want %s", c.name, got, c.last, c.want)
		}
		if step, err := stepAt(times, c.want); err != nil || step != n {
			t.Errorf("%s: %s is step %d (%v), want %d", c.name, c.want, step, err, n)
		}
	}
}

// TestRead_CommentsBelowTheNamesAreNoted: rows whose ids begin with # vanish as comments do.
func TestRead_CommentsBelowTheNamesAreNoted(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"# by hand\n# of two\nepisode,t,y\n8,0,1\n#7,0,1\n8,1,2\n#7,1,2\n#7,2,3": "3 lines that begin with # are comments",
		"episode,t,y\n8,0,1\n8,1,2\n# the end":                                   "1 line that begins with # is a comment",
		"# by hand\nepisode,t,y\n8,0,1\n8,1,2\n":                                 "",
		"# by hand\n# of two\n1.5\n8\n":                                          "",
		"sep=;\nepisode;t;y\n8;0;1\n8;1;2\n":                                     "",
	} {
		d := readAs(t, Options{}, text)
		notes := strings.Join(d.Notes, "\n")
		if want == "" && strings.Contains(notes, "#") || !strings.Contains(notes, want) {
			t.Errorf("%q: notes %q, want %q", text, notes, want)
		}
	}
}

// TestRead_CommasForThousands: where commas are decimal signs, those for thousands are refused if the column shows what
// they are, and noted if they may be.
func TestRead_CommasForThousands(t *testing.T) {
	t.Parallel()
	const note = "commas are read as decimal signs"
	for _, c := range []struct {
		values, want string
		refused      bool
	}{
		{"970 980 990 1,000 1,010", "line 5, column 2 (y)", true},
		{"-970 -990 -1,010 -12,500", "signs for thousands", true},
		{"1,234 1,567 2,341", note, false},
		{"970 990 1,001 1,011", note, false},       // no zeros
		{"1,250 2,500 999 999 3,750", note, false}, // a mark
		{"1,250 2,500 0 3", note, false},
		{"970 980 1,000 1100 1200", note, false},
		{"970 980 0,000 1,010", "", false},
		{"970 980 1,000 1,5", "", false},
		{"970 980 990", "", false},
	} {
		for _, sign := range []string{"\t", ";"} {
			text := "t" + sign + "y\n"
			for i, v := range strings.Fields(c.values) {
				text += fmt.Sprintf("%d%s%s\n", i, sign, v)
			}
			d, err := Read([]string{filepath.Join(write(t, map[string]string{"d.csv": text}), "d.csv")}, Options{})
			switch {
			case c.refused && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%s: %v, want a fault with %q", c.values, err, c.want)
			case !c.refused && err != nil:
				t.Errorf("%s: %v", c.values, err)
			case !c.refused && strings.Contains(strings.Join(d.Notes, "\n"), note) != (c.want == note):
				t.Errorf("%s: notes %q, want %q", c.values, d.Notes, c.want)
			}
		}
	}
}

// TestArrays_OptionsThatNameColumns: an array that --id names has the names of the episodes. Lists of columns are those
// of tables.
func TestArrays_OptionsThatNameColumns(t *testing.T) {
	t.Parallel()
	y := named{"y", []int{2, 2, 1}, []float32{1, 2, 3, 4}}
	at, clock := named{"day", []int{2, 2}, []float32{0, 1, 2, 3}}, named{"clock", []int{2, 2}, []float32{0, 1, 2, 3}}
	shop, other := named{"shop", []int{2}, []string{"north", "south"}}, named{"episode", []int{2}, []string{"a", "b"}}
	number := named{"number", []int{2}, []float32{7, 8}}
	path := filepath.Join(write(t, map[string]string{"d.npz": npz(t, y, at, clock, shop, other, number)}), "d.npz")
	d := mustRead(t, Options{ID: "shop"}, path)
	if d.Episodes[0].Name != "north" || d.Episodes[1].Name != "south" || !slices.Equal(d.Key, []string{"shop"}) {
		t.Errorf("names %v of %v", d.Recordings(), d.Key)
	}
	if !slices.Contains(d.Notes, "array episode [2] is not used") {
		t.Errorf("notes %q", d.Notes)
	}
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Time: "day,clock"}, "--time day,clock: only tables have times in several columns; name a single array"},
		{Options{ID: "shop,episode"}, "--id shop,episode: only tables tell recordings apart by several columns; name a single array"},
		{Options{ID: "number"}, "number: it does not name the episodes; save a text of its own for each of 2 episodes"},
		{Options{Time: "days,clocks"}, "there is no such array"},
	} {
		if _, err := Read([]string{path}, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("--time %q --id %q: got %v, want %q in it", c.o.Time, c.o.ID, err, c.want)
		}
	}
}
