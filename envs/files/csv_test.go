package files

import (
	"fmt"
	"strings"
	"testing"
)

// TestCSV_EncodingOfShortFiles: a text in UTF-8 is read as such wherever its letters stand, also where what is looked at
// ends within one; any other text is Windows-1252.
func TestCSV_EncodingOfShortFiles(t *testing.T) {
	t.Parallel()
	for _, rows := range []int{3, 5000} { // 5,000 are more than is looked at
		for n := range 9 {
			name := strings.Repeat("é", 8) + strings.Repeat("x", n)
			var b strings.Builder
			b.WriteString("y,place\n")
			for range rows {
				fmt.Fprintf(&b, "1,%s\n", name)
			}
			d := readAs(t, Options{ID: "place"}, b.String())
			if got := d.Episodes[0].Name; got != name || len(d.Notes) > 0 {
				t.Errorf("%d rows of %s: read as %s, %q", rows, name, got, d.Notes)
			}
		}
	}
	d := readAs(t, Options{ID: "place"}, "y,place\n1,caf\xe9\n2,caf\xe9\n")
	if got := d.Episodes[0].Name; got != "café" || len(d.Notes) != 1 {
		t.Errorf("Windows-1252: read as %s, %q", got, d.Notes)
	}
	if got := readAs(t, Options{ID: "place"}, "y,place\n1,caf\xe9\n2,caf\xe9").Episodes; len(got) != 1 {
		t.Errorf("a letter of Windows-1252 at the end: %d recordings", len(got))
	}
}

// TestCSV_SignsInQuotes: what stands in a heading within quotes separates no columns.
func TestCSV_SignsInQuotes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"torque; Nm", "torque\tNm", "torque| Nm"} {
		d := readAs(t, Options{Observe: []string{columnName(name, 0)}}, "t,\""+name+"\"\n0,1.5\n1,2.5\n")
		equal(t, name, d.Episodes[0].Observations, []float32{1.5, 2.5})
	}
	d := readAs(t, Options{}, "t;\"y1\"\n0;1,5\n1;2,5\n")
	equal(t, "columns in quotes", d.Episodes[0].Observations, []float32{1.5, 2.5})
}
