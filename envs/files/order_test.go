package files

import (
	"path/filepath"
	"testing"
)

// Channels and controls go to the places of their names, with all that belongs to them; other names leave them.
func TestInOrder(t *testing.T) {
	text := "y_torque,y_speed,u_b,u_a\n1,10,5,50\n,20,6,60\n3,30,7,70\n"
	d := mustRead(t, Options{}, filepath.Join(write(t, map[string]string{"a.csv": text}), "a.csv"))
	o := d.InOrder([]string{"speed", "torque"}, []string{"a", "b"})
	equal(t, "observations", o.Episodes[0].Observations, []float32{10, 1, 20, 0, 30, 3})
	equal(t, "mask", o.Episodes[0].Mask, []float32{1, 1, 1, 0, 1, 1})
	equal(t, "controls", o.Episodes[0].Controls, []float32{0, 0, 60, 6, 70, 7})
	equal(t, "names", append(o.Channels(), o.Actions()...), []string{"speed", "torque", "a", "b"})
	equal(t, "what was read", d.Episodes[0].Observations, []float32{1, 10, 0, 20, 3, 30})
	for _, other := range [][]string{{"speed"}, {"speed", "power"}, {"torque", "speed"}, nil} {
		if d.InOrder(other, []string{"b", "a"}) != d {
			t.Errorf("the order of %q is taken", other)
		}
	}
}

// A part that a split by time cuts off knows the controls that lead to its first step, in the units of its data.
func TestSplitByTime_KeepsTheControlBetweenParts(t *testing.T) {
	text := "y,u_a,u_b\n"
	for i := range 10 {
		text += itoa(i*i%5) + "," + itoa(i) + "," + itoa(10*i) + "\n"
	}
	d := mustRead(t, Options{}, filepath.Join(write(t, map[string]string{"a.csv": text}), "a.csv"))
	parts, err := d.SplitByTime(Fractions{Validation: 0.2, Test: 0.2})
	if err != nil {
		t.Fatal(err)
	}
	scale := Normalisation{
		Observations: Scale{Mean: []float64{0}, SD: []float64{1}}, Controls: Scale{Mean: []float64{1, 0}, SD: []float64{2, 10}},
	}
	scaled := scale.Apply(parts)
	for i, want := range [][]float32{nil, {6, 60}, {8, 80}} {
		e, s := parts.Episodes[i], scaled.Episodes[i]
		equal(t, "controls", e.Before, want)
		if want != nil {
			equal(t, "the first control", e.Controls[:2], []float32{0, 0})
			equal(t, "scaled controls", s.Before, []float32{(want[0] - 1) / 2, want[1] / 10})
		}
	}
	equal(t, "controls again", scale.Invert(scaled).Episodes[1].Before, []float32{6, 60})
}
