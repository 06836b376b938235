package job

import "testing"

// TestOversized: models of a usual size for their data, and the smallest ones, are not warned about.
func TestOversized(t *testing.T) {
	for _, c := range []struct {
		parameters, values int
		warned             bool
	}{{235_338, 60, true}, {20_001, 2000, true}, {20_000, 2000, false}, {900, 60, false}, {2001, 60, true}, {235_338, 0, false}} {
		if got := oversized(c.parameters, c.values); (got != "") != c.warned {
			t.Errorf("%d parameters for %d values: %q", c.parameters, c.values, got)
		}
	}
}
