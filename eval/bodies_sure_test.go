package eval

import (
	"math"
	"testing"
)

// TestDivision_OfALinkOnTheEdge: whether a link of 4.1 standard errors counts depends on the blocks, and with them the
// bodies. Four are asked for.
func TestDivision_OfALinkOnTheEdge(t *testing.T) {
	const gain, z = 0.1, 4.1
	without, with := make([]float64, linkBlocks), make([]float64, linkBlocks)
	for b := range without {
		spread := gain / z * math.Sqrt(linkBlocks-1)
		if b%2 == 0 {
			spread = -spread
		}
		without[b], with[b] = 1, 1-gain-spread
	}
	r := &rowsOf{n: fewestRows, nx: 2}
	link := r.link(0, 1, without, with, false)
	r.links = []Link{link}
	if d := r.divide(); math.Abs(link.Z-z) > 1e-9 || math.Abs(link.Gain-gain) > 1e-9 || len(d.Bodies) != 1 ||
		!(d.Sure > 0.3 && d.Sure < 0.8) {
		t.Errorf("%v standard errors: %d bodies in %v of the resampled data", link.Z, len(d.Bodies), d.Sure)
	}
}
