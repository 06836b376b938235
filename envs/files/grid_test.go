package files

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestGrid_Shared: the grid of several recordings does not depend on their order, and every row keeps its time.
func TestGrid_Shared(t *testing.T) {
	t.Parallel()
	numbers := func(step, n int) []string {
		var list []string
		for i := range n {
			list = append(list, itoa(i*step))
		}
		return list
	}
	months := func(step, n int) []string {
		var list []string
		for i := range n {
			list = append(list, time.Date(2005, time.Month(1+i*step), 1, 0, 0, 0, 0, time.UTC).Format(time.DateOnly))
		}
		return list
	}
	days := func(n int, weekends bool) []string {
		var list []string
		for at := time.Date(2021, 1, 4, 0, 0, 0, 0, time.UTC); len(list) < n; at = at.AddDate(0, 0, 1) {
			if weekends || at.Weekday()%6 != 0 {
				list = append(list, at.Format(time.DateOnly))
			}
		}
		return list
	}
	for _, c := range []struct {
		name  string
		a, b  []string
		dt    float64
		unit  string
		wrong string
	}{
		{"every third step, and every one", numbers(3, 10), numbers(1, 10), 1, "", ""},
		{"every second step, and every third", numbers(2, 10), numbers(3, 10), 0, "", "off the grid of 2 that other recordings have"},
		{"too short for a grid of its own", []string{"0", "2", "5"}, numbers(1, 10), 1, "", ""},
		{"every second month, and every third", months(2, 10), months(3, 10), 1, "month", ""},
		{"quarters and years", months(3, 10), months(12, 10), 3, "month", ""},
		{"days of trade, and all days", days(15, false), days(15, true), 1, "day", ""},
		{"two of days of trade", days(15, false), days(12, false), 1, "business day", ""},
	} {
		for range 2 {
			var text strings.Builder
			text.WriteString("id,t,y\n")
			for _, r := range []struct {
				id    string
				times []string
			}{{"a", c.a}, {"b", c.b}} {
				for _, at := range r.times {
					fmt.Fprintf(&text, "%s,%s,1\n", r.id, at)
				}
			}
			path := filepath.Join(write(t, map[string]string{"d.csv": text.String()}), "d.csv")
			d, err := Read([]string{path}, Options{Time: "t", ID: "id", Observe: []string{"y"}})
			switch {
			case c.wrong != "" && err != nil && strings.Contains(err.Error(), c.wrong):
			case c.wrong != "" || err != nil:
				t.Errorf("%s: %v, want %q", c.name, err, c.wrong)
			case d.Spec.DT != c.dt || d.TimeUnit != c.unit:
				t.Errorf("%s: steps of %v %q, want %v %q", c.name, d.Spec.DT, d.TimeUnit, c.dt, c.unit)
			default:
				for i, want := range []string{c.a[len(c.a)-1], c.b[len(c.b)-1]} {
					if got := d.Episodes[i].Times.Text(d.Episodes[i].T - 1); !slices.Equal(got, []string{want}) {
						t.Errorf("%s: recording %d ends at %v, want %s", c.name, i, got, want)
					}
				}
			}
			c.a, c.b = c.b, c.a
		}
	}
}
