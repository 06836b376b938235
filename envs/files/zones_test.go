package files

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // for machines without zones
)

// zoned are n rows that begin at a time of a zone, a step apart by the clock there, or by UTC if a step has hours.
func zoned(t *testing.T, zone, first string, n, hours, days, months int) []string {
	t.Helper()
	place, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	at, err := time.ParseInLocation("2006-01-02 15:04", first, place)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for i := range n {
		list = append(list, at.AddDate(0, i*months, i*days).Add(time.Duration(i*hours)*time.Hour).Format("2006-01-02T15:04:05-07:00"))
	}
	return list
}

func zonedTable(list []string) string {
	var b strings.Builder
	b.WriteString("when,y\n")
	for i, at := range list {
		fmt.Fprintf(&b, "%s,%d\n", at, i*i%97)
	}
	return b.String()
}

// TestTimes_ThroughSummerTime: where the offset from UTC changes within a file, its rows are even, each date of the file
// is written as it stands there and read as its step, and those that follow keep the last offset.
func TestTimes_ThroughSummerTime(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		zone, first            string
		n, hours, days, months int
		dt                     float64
		unit, next             string
	}{
		"hours, spring":  {"Europe/Berlin", "2021-03-27 20:00", 12, 1, 0, 0, 1, "h", "2021-03-28T09:00:00+02:00"},
		"hours, autumn":  {"Europe/Berlin", "2021-10-30 20:00", 12, 1, 0, 0, 1, "h", "2021-10-31T07:00:00+01:00"},
		"half days":      {"America/New_York", "2021-03-12 09:00", 10, 12, 0, 0, 12, "h", "2021-03-17T10:00:00-04:00"},
		"days, spring":   {"Europe/Berlin", "2021-03-25 00:00", 8, 0, 1, 0, 1, "day", "2021-04-02T00:00:00+02:00"},
		"days, autumn":   {"America/New_York", "2021-11-03 06:30", 8, 0, 1, 0, 1, "day", "2021-11-11T06:30:00-05:00"},
		"weeks":          {"Australia/Sydney", "2021-03-22 00:00", 6, 0, 7, 0, 7, "day", "2021-05-03T00:00:00+10:00"},
		"months":         {"Europe/Berlin", "2021-01-01 00:00", 8, 0, 0, 1, 1, "month", "2021-09-01T00:00:00+02:00"},
		"half an hour":   {"Australia/Lord_Howe", "2021-04-03 20:00", 12, 1, 0, 0, 1, "h", "2021-04-04T07:30:00+10:30"},
		"two changes":    {"Europe/London", "2021-03-01 12:00", 250, 0, 1, 0, 1, "day", "2021-11-06T12:00:00+00:00"},
		"no change":      {"Asia/Kolkata", "2021-03-27 20:00", 12, 1, 0, 0, 1, "h", "2021-03-28T08:00:00+05:30"},
		"change at once": {"Europe/Berlin", "2021-03-28 01:00", 6, 1, 0, 0, 1, "h", "2021-03-28T08:00:00+02:00"},
	} {
		list := zoned(t, test.zone, test.first, test.n, test.hours, test.days, test.months)
		d := readAs(t, Options{Time: "when", Observe: []string{"y"}}, zonedTable(list))
		if d.Spec.DT != test.dt || d.TimeUnit != test.unit || d.Steps() != test.n {
			t.Errorf("%s: %d steps of %v %s", name, d.Steps(), d.Spec.DT, d.TimeUnit)
			continue
		}
		times := d.Episodes[0].Times
		for i, at := range append(slices.Clone(list), test.next) {
			if got := times.Text(i)[0]; got != at {
				t.Errorf("%s: step %d is %s, want %s", name, i, got, at)
			}
			if step, err := stepAt(times, at); err != nil || step != i {
				t.Errorf("%s: %s is step %d (%v), want %d", name, at, step, err, i)
			}
		}
		changes := strings.Contains(strings.Join(d.Notes, "\n"), "the offset from UTC changes")
		if want := test.zone != "Asia/Kolkata"; changes != want {
			t.Errorf("%s: notes %v", name, d.Notes)
		}
	}
}

// TestTable_DaysOfAClockThatChanges: days and longer steps are those of the file's own clock, of 23 hours or of 25, and
// hours are those of UTC, as in pandas with the zone of the data.
func TestTable_DaysOfAClockThatChanges(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"2021-03-27 00:00", "2021-10-30 00:00"} {
		list := zoned(t, "Europe/Berlin", first, 72, 1, 0, 0)
		sums, counts := map[string]float64{}, map[string]float64{}
		for i, at := range list {
			sums[at[:10]] += float64(i * i % 97)
			counts[at[:10]]++
		}
		if counts[list[30][:10]] == 24 {
			t.Fatalf("the second day has 24 hours: %v", counts)
		}
		d := readAs(t, Options{Time: "when", Observe: []string{"y"}, Resample: "1d"}, zonedTable(list))
		for i := range 3 {
			at := d.Episodes[0].Times.Text(i)[0]
			if got, want := d.Episodes[0].Observations[i], float32(sums[at[:10]]/counts[at[:10]]); got != want || at[11:19] != "00:00:00" {
				t.Errorf("%s: the mean is %v, want %v", at, got, want)
			}
		}
		d = readAs(t, Options{Time: "when", Observe: []string{"y"}, Resample: "2h"}, zonedTable(list))
		if d.Steps() != 36 || d.Episodes[0].Observations[0] != 0.5 {
			t.Errorf("%d steps of two hours, the first is %v", d.Steps(), d.Episodes[0].Observations[0])
		}
	}
}

// TestTimes_ZonesOfRecordings: each recording has its own clock.
func TestTimes_ZonesOfRecordings(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("place,when,y\n")
	next := map[string]string{
		"Asia/Kolkata": "2021-11-15T00:00:00+05:30", "America/New_York": "2021-11-15T00:00:00-05:00", "Europe/Berlin": "2021-11-15T00:00:00+01:00",
	}
	lists := map[string][]string{}
	for place := range next {
		lists[place] = zoned(t, place, "2021-10-20 00:00", 26, 0, 1, 0)
	}
	for i := range 26 {
		for _, place := range []string{"Asia/Kolkata", "America/New_York", "Europe/Berlin"} {
			fmt.Fprintf(&b, "%s,%s,%d\n", place, lists[place][25-i], i) // the last day first
		}
	}
	d := readAs(t, Options{Time: "when", ID: "place", Observe: []string{"y"}}, b.String())
	if len(d.Episodes) != 3 || d.Steps() != 78 || d.Spec.DT != 1 || d.TimeUnit != "day" {
		t.Fatalf("%d recordings, %d steps of %v %s", len(d.Episodes), d.Steps(), d.Spec.DT, d.TimeUnit)
	}
	for i := range d.Episodes {
		e := &d.Episodes[i]
		for s, want := range append(slices.Clone(lists[e.Name]), next[e.Name]) {
			if got := e.Times.Text(s)[0]; got != want {
				t.Errorf("%s, step %d: %s, want %s", e.Name, s, got, want)
			}
			if step, err := stepAt(e.Times, want); err != nil || step != s {
				t.Errorf("%s: %s is step %d, %v; want %d", e.Name, want, step, err, s)
			}
		}
	}
}
