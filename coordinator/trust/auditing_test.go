package trust

import (
	"testing"

	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/wire"
)

// The share of the blocks that are drawn is the one that is wanted, another key draws others, and all are drawn below
// the step that a liar has undone.
func TestAuditing_Draws(t *testing.T) {
	count := func(a Auditing) (n int, drawn []bool) {
		for step := range uint64(1000) {
			d := a.Draws(step, wire.Gradient, vector.Block{First: 2, Count: 2}, false)
			drawn = append(drawn, d)
			if d {
				n++
			}
		}
		return n, drawn
	}
	none, _ := count(Auditing{Run: "r"})
	all, _ := count(Auditing{Run: "r", Share: 1})
	some, one := count(Auditing{Run: "r", Share: 0.3})
	_, two := count(Auditing{Run: "r", Share: 0.3, Key: [32]byte{1}})
	if none != 0 || all != 1000 || some < 250 || some > 350 {
		t.Errorf("%d, %d and %d of 1000 blocks", none, all, some)
	}
	same := 0
	for i := range one {
		if one[i] == two[i] {
			same++
		}
	}
	if same > 700 {
		t.Errorf("two keys agree about %d of 1000 blocks", same)
	}
	a := Auditing{Run: "r"}
	if a.Any() {
		t.Error("there are no audits")
	}
	a.Undone(9)
	a.Undone(4)
	if n, _ := count(a); n != 10 || !a.Any() {
		t.Errorf("%d blocks up to the step that was undone, want 10", n)
	}
}
