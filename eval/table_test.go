package eval_test

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/eval"
)

func example() eval.Table {
	return eval.Table{
		Title: "R² by horizon", Corner: "k", Columns: []string{"1", "30"}, Decimals: 3,
		Rows: []eval.Row{
			{Name: "model", Values: []float64{0.9991, 0.9561}},
			{},
			{Name: "persistence", Values: []float64{0.5, math.NaN()}},
		},
		Notes: []string{"Higher is better."},
	}
}

func ExampleTable_WriteText() {
	if err := example().WriteText(os.Stdout); err != nil {
		panic(err)
	}
	// Output:
	// R² by horizon
	// k                1     30
	// ─────────────────────────
	// model        0.999  0.956
	// ─────────────────────────
	// persistence  0.500      –
	// Higher is better.
}

func TestTable_SignificantDigits(t *testing.T) {
	table := eval.Table{Digits: 3, Columns: []string{"a"}, Rows: []eval.Row{{Name: "x", Values: []float64{0.00033456}}, {Name: "y", Values: []float64{1234.5}}, {Name: "z", Values: []float64{0}}}}
	var b strings.Builder
	if err := table.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Fields(b.String()), []string{"a", "x", "0.000335", "y", "1234", "z", "0"}; !slices.Equal(slices.DeleteFunc(got, func(s string) bool { return strings.HasPrefix(s, "─") }), want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func ExampleTable_WriteCSV() {
	if err := example().WriteCSV(os.Stdout); err != nil {
		panic(err)
	}
	// Output:
	// k,1,30
	// model,0.9991,0.9561
	// persistence,0.5,
}

func TestReport_JSONKeepsOrderAndNullsWhatIsNotFinite(t *testing.T) {
	got, err := json.Marshal(eval.Report{
		Protocol: "p",
		Metrics: []eval.Metric{
			{Name: "z", Values: []float64{math.NaN()}},
			{Name: "a", Values: []float64{1}, List: true},
			{Name: "b", Values: []float64{0.25, math.Inf(-1)}, List: true},
			{Name: "c", Values: []float64{2}},
			{Name: "d", Values: []float64{math.NaN(), 3}, Keys: []string{"10", "1"}},
		},
	})
	want := `{"protocol":"p","metrics":{"z":null,"a":[1],"b":[0.25,null],"c":2,"d":{"10":null,"1":3}},"paper":{}}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}
