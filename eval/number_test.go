package eval

import (
	"encoding/json"
	"math"
	"testing"
)

// TestNumber_NotFiniteIsNull: it is written as null wherever it stands, and read back as NaN. A map reads null, too.
func TestNumber_NotFiniteIsNull(t *testing.T) {
	in := map[string][]Number{"a": NumberList([]float64{math.NaN(), 1.5, math.Inf(1), math.Inf(-1)}), "b": NumberList(nil)}
	text, err := json.Marshal(in)
	if want := `{"a":[null,1.5,null,null],"b":[]}`; err != nil || string(text) != want {
		t.Fatalf("%s, %v; want %s", text, err, want)
	}
	var out map[string][]Number
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	for i, v := range Floats(out["a"]) {
		if i == 1 && v != 1.5 || i != 1 && !math.IsNaN(v) {
			t.Errorf("value %d is %g", i, v)
		}
	}
	var named map[string]Number
	if err := json.Unmarshal([]byte(`{"a":null,"b":2}`), &named); err != nil || !math.IsNaN(float64(named["a"])) || named["b"] != 2 {
		t.Errorf("%v, %v", named, err)
	}
	if err := json.Unmarshal([]byte(`{"a":"NaN"}`), &named); err == nil {
		t.Error("a word is read as a number")
	}
}
