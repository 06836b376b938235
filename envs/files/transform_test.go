package files

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"testing"
)

// Undo gives the values of the file back, for every transform and channel, also after the scaling.
func TestTransform_UndoneInTheUnitsOfTheFile(t *testing.T) {
	text := "y_a,y_b\n"
	var values [2][]float64
	for i := range 40 {
		a, b := 100+10*math.Sin(float64(i))+float64(i), math.Exp(0.1*float64(i))
		values[0], values[1] = append(values[0], a), append(values[1], b)
		text += formatted(a) + "," + formatted(b) + "\n"
	}
	for _, name := range []string{"none", "log", "diff", "diff12", "log-diff", "log-diff12", "a=diff3,b=log-diff"} {
		d := readAs(t, Options{Transform: name}, text)
		n := d.Measure([]int{0})
		n.Describe(d)
		text, err := json.Marshal(n)
		if err != nil {
			t.Fatal(err)
		}
		kept, err := d.ParseNormalisation("n.json", text)
		if err != nil || !reflect.DeepEqual(kept, n) {
			t.Fatalf("%s: kept as %+v, %v, want %+v", name, kept, err, n)
		}
		scaled := n.Apply(d)
		e := &scaled.Episodes[0]
		for c := range 2 {
			var path []float64
			for step := 20; step < 40; step++ {
				path = append(path, float64(e.Observations[step*2+c]))
			}
			scale := kept.Observations
			got := scale.Units(c, path, d.Values(&d.Episodes[0], c, 20, scale.Transform(c).Lag))
			for i := range got {
				if want := values[c][20+i]; math.Abs(got[i]-want) > 1e-4*math.Abs(want) {
					t.Fatalf("%s, channel %d, step %d: %v, want %v", name, c, 20+i, got[i], want)
				}
			}
		}
	}
}

func formatted(v float64) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func TestTransform_MissingValues(t *testing.T) {
	d := readAs(t, Options{Transform: "diff"}, "y\n1\n3\n\n7\n8\n")
	equal(t, "mask", d.Episodes[0].Mask, []float32{0, 1, 0, 0, 1})
	equal(t, "differences", d.Episodes[0].Observations, []float32{0, 2, 0, 0, 1})
	if got := (Transform{Lag: 1}).Undo([]float64{1, 1}, []float64{math.NaN()}); !math.IsNaN(got[0]) {
		t.Errorf("a level that is not known gave %v", got)
	}
}

// Digits that float32 does not have are kept until the mean is subtracted.
func TestOrigins_KeepDigits(t *testing.T) {
	text := "y_big,y_small\n"
	for i := range 50 {
		text += formatted(1e8+0.25*float64(i%4)) + "," + formatted(float64(i%3)) + "\n"
	}
	d := readAs(t, Options{}, text)
	n := d.Measure([]int{0})
	scaled := n.Apply(d)
	if sd := n.Observations.SD[0]; math.Abs(sd-0.279) > 0.01 || math.Abs(n.Observations.Mean[0]-1e8) > 1 {
		t.Fatalf("mean %v, deviation %v", n.Observations.Mean[0], sd)
	}
	for i := range 50 {
		want := (1e8 + 0.25*float64(i%4) - n.Observations.Mean[0]) / n.Observations.SD[0]
		if got := float64(scaled.Episodes[0].Observations[2*i]); math.Abs(got-want) > 1e-5 {
			t.Fatalf("step %d: %v, want %v", i, got, want)
		}
	}
	s, err := d.Summarise()
	if err != nil || s.Channels[0].Constant || s.Channels[0].Max != 1e8+0.75 {
		t.Errorf("summary %+v, %v", s.Channels[0], err)
	}
	if raw := (Normalisation{}).Apply(d); raw.Episodes[0].Observations[0] != 1e8 || raw.Origins != nil {
		t.Errorf("without scaling: %v from %v", raw.Episodes[0].Observations[0], raw.Origins)
	}
	encoded, err := d.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	back, err := Decode(encoded)
	if err != nil || !slices.Equal(back.Origins, d.Origins) {
		t.Errorf("decoded origins %v, %v", back.Origins, err)
	}
}

func TestSplitByTime(t *testing.T) {
	text := "y,u\n"
	for i := range 50 {
		text += itoa(i) + "," + itoa(i) + "\n"
	}
	d := readAs(t, Options{}, text)
	divided, err := (&Settings{Split: "auto", Validation: 0.2, Test: 0.1}).Divided(d)
	if err != nil {
		t.Fatal(err)
	}
	var lengths []int
	for i := range divided.Episodes {
		e := &divided.Episodes[i]
		lengths = append(lengths, e.T)
		if e.Part != Part(i) || e.Controls[0] != 0 {
			t.Errorf("part %d: %+v", i, e)
		}
	}
	equal(t, "lengths", lengths, []int{35, 10, 5})
	equal(t, "the last part", divided.Episodes[2].Observations, []float32{45, 46, 47, 48, 49})
	if d.Episodes[0].Controls[35] != 35 {
		t.Error("the recording was changed")
	}
	three := ramp(30)
	if same, err := (&Settings{Split: "auto", Validation: 0.1, Test: 0.1}).Divided(three); err != nil || same != three {
		t.Errorf("many episodes: %v", err)
	}
	if _, err := readAs(t, Options{}, "y\n1\n2\n3\n").SplitByTime(usual); err == nil {
		t.Error("three steps were divided")
	}
}
