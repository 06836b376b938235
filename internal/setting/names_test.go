package setting

import (
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	for name, ok := range map[string]bool{
		"fhn-1_A": true, "-v": true, "": false, "a.b": false, "a b": false, "*": false, "a>": false, "é": false,
		strings.Repeat("a", Max): true, strings.Repeat("a", Max+1): false,
	} {
		if err := Check(name); (err == nil) != ok {
			t.Errorf("%q: got %v", name, err)
		}
	}
}

func TestCheckRun(t *testing.T) {
	for name, ok := range map[string]bool{"fhn-1": true, "_a": true, "1": true, "-v": false, "-pool": false, "": false, "..": false, "a/b": false} {
		if err := CheckRun(name); (err == nil) != ok {
			t.Errorf("%q: got %v", name, err)
		}
	}
	if err := CheckRun("./runs/mine/"); err == nil || !strings.HasSuffix(err.Error(), "is a path: the name is its last part, mine") {
		t.Errorf("of a path: %v", err)
	}
}
