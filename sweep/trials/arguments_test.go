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
		`"",a`:                   "[ a] <nil>",
		"a,b,":                   "[a b] <nil>",
		"a,,b":                   "a value is missing",
		"range(0)":               "has no values",
		"range(0,9223372036854775807,9223372036854775806)": "[0 9223372036854775806] <nil>",
		"range(-9223372036854775807,9223372036854775807)":  "too many",
		"range(0,5e9)":                    "no whole number",
		"range(0,5000000000,3000000000)":  "[0 3000000000]",
		"range(5000000000,0,-3000000000)": "[5000000000 2000000000]",
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

// TestArguments_AreReadBack: a file and values arrive as they were typed, whatever YAML makes of such words.
func TestArguments_AreReadBack(t *testing.T) {
	text, err := FromArguments([]string{"my #1: [x].yaml", `env.id=""`, `env.transform="",diff,null,~`})
	if err != nil {
		t.Fatal(err)
	}
	f, err := Parse("sweep", text)
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintf("%q %q %q", f.Configs, f.Fixed.Arguments(), f.Spec.Parameters[0].Values)
	if want := `["my #1: [x].yaml"] ["env.id="] ["" "diff" "null" "~"]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
