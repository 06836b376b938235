package eval

import (
	"slices"
	"testing"
)

// TestPaper_AtTheHorizonsOfItsProtocol: the published rows are at the places that a protocol reports, and each says where
// it was printed.
func TestPaper_AtTheHorizonsOfItsProtocol(t *testing.T) {
	whole := func(places []int) []float64 { return integers("", places).Values }
	for _, c := range []struct {
		protocol, environment string
		rows                  int
		at                    []float64
	}{
		{"table1", "maze", 6, whole(Table1Horizons())},
		{"table1", "reacher", 6, whole(Table1Horizons())},
		{"fhn", "fhn", 3, whole(FHNHorizons())},
		{"pixels", "ball", 3, whole(PixelHorizons())},
		{"dt", "maze", 2, DTPaperSteps()},
		{"velocity", "maze", 1, []float64{0}},
		{"contact", "maze", 1, []float64{0}},
		{"contact", "reacher", 1, []float64{0}},
		{"velocity", "reacher", 0, nil},
	} {
		rows := Paper(c.protocol, c.environment)
		if len(rows) != c.rows {
			t.Errorf("%s of %s: %d rows, want %d", c.protocol, c.environment, len(rows), c.rows)
		}
		for _, p := range rows {
			if !slices.Equal(p.At, c.at) || len(p.Values) != len(p.At) || p.Value(p.At[0]) != p.Values[0] {
				t.Errorf("%s of %s, %s: %v at %v", c.protocol, c.environment, p.Key, p.Values, p.At)
			}
		}
	}
	for _, row := range compiledIn(published) {
		if row[len(row)-1] == "" {
			t.Errorf("%q has no source", row)
		}
	}
}
