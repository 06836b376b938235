package files

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestTimes_GoOnInTheFormOfTheFile: the dates that follow a recording are those of its grid, as the file writes them, and
// each date of the file is read back as its step.
func TestTimes_GoOnInTheFormOfTheFile(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ first, want []string }{
		"days":             {[]string{"2024-02-27", "2024-02-28"}, []string{"2024-02-29", "2024-03-01"}},
		"day first":        {[]string{"28/01/2021", "29/01/2021", "30/01/2021"}, []string{"31/01/2021", "01/02/2021"}},
		"bare, points":     {[]string{"7.2.2021", "8.2.2021", "9.2.2021"}, []string{"10.2.2021", "11.2.2021"}},
		"month first":      {[]string{"1/30/2021", "1/31/2021", "2/1/2021"}, []string{"2/2/2021", "2/3/2021"}},
		"two digits":       {[]string{"30-01-21", "31-01-21"}, []string{"01-02-21", "02-02-21"}},
		"am and pm":        {[]string{"13/01/2021 10:00 AM", "13/01/2021 11:00 AM"}, []string{"13/01/2021 12:00 PM", "13/01/2021 01:00 PM"}},
		"bare am and pm":   {[]string{"1/13/2021 9:00:00 pm", "1/13/2021 10:00:00 pm", "1/13/2021 11:00:00 pm"}, []string{"1/14/2021 12:00:00 am", "1/14/2021 1:00:00 am"}},
		"bare hours":       {[]string{"2021-01-01 8:00", "2021-01-01 9:00"}, []string{"2021-01-01 10:00", "2021-01-01 11:00"}},
		"offset":           {[]string{"2021-01-01T22:00:00-04:00", "2021-01-01T23:00:00-04:00"}, []string{"2021-01-02T00:00:00-04:00", "2021-01-02T01:00:00-04:00"}},
		"zero offset":      {[]string{"2021-01-01 22:00:00+00:00", "2021-01-01 23:00:00+00:00"}, []string{"2021-01-02 00:00:00+00:00", "2021-01-02 01:00:00+00:00"}},
		"Z":                {[]string{"2021-01-01T22:00:00Z", "2021-01-01T23:00:00Z"}, []string{"2021-01-02T00:00:00Z", "2021-01-02T01:00:00Z"}},
		"UTC":              {[]string{"2021-01-01 22:00:00 UTC", "2021-01-01 23:00:00 UTC"}, []string{"2021-01-02 00:00:00 UTC", "2021-01-02 01:00:00 UTC"}},
		"fractions":        {[]string{"2021-01-01 22:00:00.000", "2021-01-01 22:00:00.250"}, []string{"2021-01-01 22:00:00.500", "2021-01-01 22:00:00.750"}},
		"months":           {[]string{"2024-11", "2024-12"}, []string{"2025-01", "2025-02"}},
		"ends of months":   {[]string{"2023-11-30", "2023-12-31", "2024-01-31"}, []string{"2024-02-29", "2024-03-31"}},
		"ends of quarters": {[]string{"2023-06-30", "2023-09-30"}, []string{"2023-12-31", "2024-03-31"}},
		"names":            {[]string{"01-Nov-10", "01-Dec-10"}, []string{"01-Jan-11", "01-Feb-11"}},
		"long names":       {[]string{"November 1, 2010", "December 1, 2010"}, []string{"January 1, 2011", "February 1, 2011"}},
		"names first":      {[]string{"Nov-1-1995", "Dec-1-1995"}, []string{"Jan-1-1996", "Feb-1-1996"}},
		"no comma":         {[]string{"Jan 30 2021", "Jan 31 2021"}, []string{"Feb 01 2021", "Feb 02 2021"}},
		"slashed names":    {[]string{"30/Jan/2021", "31/Jan/2021"}, []string{"01/Feb/2021", "02/Feb/2021"}},
		"quarters":         {[]string{"1959Q3", "1959Q4"}, []string{"1960Q1", "1960Q2"}},
		"bare quarters":    {[]string{"1959-q3", "1959-q4"}, []string{"1960-q1", "1960-q2"}},
		"quarters first":   {[]string{"Q3 1959", "Q4 1959"}, []string{"Q1 1960", "Q2 1960"}},
		"third quarters":   {[]string{"3Q1959", "4Q1959"}, []string{"1Q1960", "2Q1960"}},
		"halves of years":  {[]string{"2000H1", "2000H2"}, []string{"2001H1", "2001H2"}},
		"days of years":    {[]string{"2024-059", "2024-060"}, []string{"2024-061", "2024-062"}},
		"to the second":    {[]string{"20211231235900", "20211231235930"}, []string{"20220101000000", "20220101000030"}},
		"short years":      {[]string{"30.12.21", "31.12.21"}, []string{"01.01.22", "02.01.22"}},
		"bare days":        {[]string{"2021-8-30", "2021-8-31"}, []string{"2021-9-1", "2021-9-2"}},
		"times of the day": {[]string{"23:58:00", "23:59:00"}, []string{"00:00:00", "00:01:00"}},
		"weeks":            {[]string{"2020-W52", "2020-W53"}, []string{"2021-W01", "2021-W02"}},
		"days of weeks":    {[]string{"2020-W53-6", "2020-W53-7"}, []string{"2021-W01-1", "2021-W01-2"}},
		"years":            {[]string{"1999", "2000"}, []string{"2001", "2002"}},
		"year and month":   {[]string{"201009", "201010", "201011", "201012", "201101", "201102"}, []string{"201103", "201104"}},
		"year and week":    {[]string{"202050", "202051", "202052", "202053", "202101", "202102"}, []string{"202103", "202104"}},
		"year and day":     {[]string{"2020363", "2020364", "2020365", "2020366", "2021001", "2021002"}, []string{"2021003", "2021004"}},
		"month and year":   {[]string{"11/2024", "12/2024"}, []string{"01/2025", "02/2025"}},
		"compact":          {[]string{"20240228", "20240229"}, []string{"20240301", "20240302"}},
		"business days":    {[]string{"2024-01-03", "2024-01-04", "2024-01-05", "2024-01-08", "2024-01-09", "2024-01-10", "2024-01-11", "2024-01-12"}, []string{"2024-01-15", "2024-01-16"}},
		"tens":             {[]string{"80", "90"}, []string{"100", "110"}},
		"tens and halves":  {[]string{"9.5", "10"}, []string{"10.5", "11"}},
		"decimals":         {[]string{"0.00", "0.01"}, []string{"0.02", "0.03"}},
		"loose decimals":   {[]string{"0", "0.5", "1"}, []string{"1.5", "2"}},
		"binary steps":     {[]string{"0.1", "0.2", "0.30000000000000004"}, []string{"0.4", "0.5"}},
		"exponents":        {[]string{"1.5e-05", "3e-05", "4.5e-05"}, []string{"0.000060", "0.000075"}},
		"large exponents":  {[]string{"1.70000001e+09", "1.70000002e+09"}, []string{"1700000030", "1700000040"}},
		"all digits":       {[]string{"0.000000000000000000e+00", "1.000000000000000056e-01"}, []string{"0.2", "0.3"}},
		"femtoseconds":     {[]string{"0", "2.5e-15", "5e-15"}, []string{"0.0000000000000075", "0.00000000000001"}},
		"nanoseconds":      {[]string{"1700000000000000000", "1700000000000000100"}, []string{"1700000000000000200", "1700000000000000300"}},
		"hours, minutes":   {[]string{"840", "850", "900", "910", "920", "930", "940"}, []string{"950", "1000"}},
	} {
		var b strings.Builder
		b.WriteString("when;y\n")
		for i, at := range test.first {
			fmt.Fprintf(&b, "%s;%d\n", at, i)
		}
		times := episodeTimes(t, name, b.String(), Options{Time: "when"})
		if times == nil {
			continue
		}
		n := len(test.first)
		if got := times.Text(n)[0]; got != test.want[0] {
			t.Errorf("%s: %s follows, want %s", name, got, test.want[0])
		}
		if got := times.From(2).Text(n - 1)[0]; got != test.want[1] {
			t.Errorf("%s: then %s, want %s", name, got, test.want[1])
		}
		var rows [][]string
		for _, text := range append(slices.Clone(test.first), test.want...) {
			rows = append(rows, []string{text})
		}
		steps, _, err := times.Steps(rows, 0, len(rows))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for i, step := range steps {
			if step != i {
				t.Errorf("%s: %s is step %d, want %d", name, rows[i], step, i)
			}
		}
	}
}

// stepAt is the step of one time.
func stepAt(times *Times, texts ...string) (int, error) {
	steps, _, err := times.Steps([][]string{texts}, 0, 1)
	if err != nil {
		return 0, err
	}
	return steps[0], nil
}

func episodeTimes(t *testing.T, name, text string, o Options) *Times {
	t.Helper()
	path := filepath.Join(t.TempDir(), "d.csv")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := Read([]string{path}, o)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return nil
	}
	return d.Episodes[0].Times
}

// TestTimes_OfTwoColumns: days and times of the day are written apart.
func TestTimes_OfTwoColumns(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"clock,date,y\n22:00,2024-02-28,1\n23:00,2024-02-28,2\n",
		"clock,date,y\n2200,59,1\n2300,59,2\n",
	} {
		times := episodeTimes(t, text, text, Options{Time: "date,clock"})
		want := []string{"2024-02-29", "00:00"}
		if strings.Contains(text, "59") {
			want = []string{"60", "0"}
		}
		if got := times.Text(2); !slices.Equal(got, want) || !slices.Equal(times.Columns, []string{"date", "clock"}) {
			t.Errorf("%v of %v follows, want %v", got, times.Columns, want)
		}
		if step, err := stepAt(times, want...); err != nil || step != 2 {
			t.Errorf("%v is step %d (%v)", want, step, err)
		}
	}
}

// TestTimes_OfResampledRows are the begins of the steps.
func TestTimes_OfResampledRows(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("t,y\n")
	for i := range 2400 {
		fmt.Fprintf(&b, "%s,%d\n", time.Date(2019, 1, 17, 6+i, 0, 0, 0, time.UTC).Format("2006-01-02 15:04"), i) // from Thursday on
	}
	for step, want := range map[string][]string{
		"1w": {"2019-01-14 00:00", "2019-01-21 00:00"}, "1d": {"2019-01-17 00:00", "2019-01-18 00:00"},
		"90min": {"2019-01-17 06:00", "2019-01-17 07:30"}, "1mo": {"2019-01-01 00:00", "2019-02-01 00:00"},
		"2b": {"2019-01-17 00:00", "2019-01-21 00:00"}, "1q": {"2019-01-01 00:00", "2019-04-01 00:00"},
	} {
		times := episodeTimes(t, step, b.String(), Options{Resample: step})
		if got := []string{times.Text(0)[0], times.Text(1)[0]}; !slices.Equal(got, want) {
			t.Errorf("%s: steps begin at %v, want %v", step, got, want)
		}
	}
}

// TestRead_OrdersOfDayAndMonthMayNotMix: a date that is one only with the day first, beside one only with the month first.
func TestRead_OrdersOfDayAndMonthMayNotMix(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "d.csv")
	if err := os.WriteFile(path, []byte("t,y\n13/01/2021,1\n01/14/2021,2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read([]string{path}, Options{}); err == nil || !strings.Contains(err.Error(), "some dates have the day first, and some the month") {
		t.Errorf("%v, want an error about the orders", err)
	}
}

// TestTimes_OfSmallNumbers: arrays have no decimals, and are written with those that they need.
func TestTimes_OfSmallNumbers(t *testing.T) {
	t.Parallel()
	file := npz(t, named{"y", []int{1, 3, 1}, []float32{1, 2, 3}}, named{"t", []int{1, 3}, []float64{0, 2.5e-13, 5e-13}})
	d := mustRead(t, Options{}, filepath.Join(write(t, map[string]string{"d.npz": file}), "d.npz"))
	if got := d.Episodes[0].Times.Text(3)[0]; got != "0.00000000000075" {
		t.Errorf("step 3 is at %s", got)
	}
}
