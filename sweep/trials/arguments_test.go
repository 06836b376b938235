package trials

import (
	"fmt"
	"strings"
	"testing"
)

// A command line lists values between commas; what is in quotation marks is one value.
func TestArguments_Values(t *testing.T) {
	for text, want := range map[string]string{
		"1e-3,1e-2":              "[1e-3 1e-2]",
		"choice(a, b)":           "[a b]",
		"range(3)":               "[0 1 2]",
		"range(5,1,-2)":          "[5 3]",
		`"store,item"`:           "[store,item]",
		`'store,item', "a'b",c`:  "[store,item a'b c]",
		`choice("store,item",x)`: "[store,item x]",
		`a"b,c`:                  `[a"b c]`,
		`"a,b`:                   "ends with one",
		`"a"b`:                   "only a comma may follow",
		"range(0)":               "has no values",
	} {
		values, err := valuesOf(text)
		if got := fmt.Sprint(values, err); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	file, err := FromArguments([]string{"files", `env.id="store,item"`, `env.time=day,"day,clock"`})
	want := "preset: files\nmethod: grid\nparameters:\n  env.id: {value: \"store,item\"}\n  env.time: {values: [day, \"day,clock\"]}\n"
	if err != nil || string(file) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, file, want)
	}
}
