package config_test

import (
	"testing"

	"github.com/switchyard-ml/switchyard/config"
)

// TestUsual: a preset whose results were measured says what is usual, with any seed; another setting does not.
func TestUsual(t *testing.T) {
	for _, c := range []struct {
		arguments []string
		known     bool
	}{
		{nil, true},
		{[]string{"seed=7"}, true},
		{[]string{"cluster.exchange=sharded"}, true},
		{[]string{"model.hidden=32"}, false},
		{[]string{"train.steps=100"}, false},
	} {
		u, known := resolve(t, config.Sources{Preset: "reacher", Arguments: c.arguments}).Usual()
		if known != c.known || known && u.Seeds < 3 {
			t.Errorf("reacher %v: known %v, want %v: %+v", c.arguments, known, c.known, u)
		}
	}
	if u, known := resolve(t, config.Sources{Preset: "reacher/smoke"}).Usual(); known {
		t.Errorf("reacher/smoke has %+v", u)
	}
}

// TestUsual_Judge: an error is the better the smaller, a share explained the larger; three times the distance of the
// median from the best is a failure.
func TestUsual_Judge(t *testing.T) {
	errors := config.Usual{Median: .02, Worst: .05}
	explained := config.Usual{Median: .98, Worst: .96}
	for _, c := range []struct {
		u     config.Usual
		value float64
		want  string
		fails bool
	}{
		{errors, .01, "as usual", false},
		{errors, .05, "as usual", false},
		{errors, .055, "worse than every seed before", false},
		{errors, .07, "the run has failed", true},
		{explained, .99, "as usual", false},
		{explained, .95, "worse than every seed before", false},
		{explained, .9, "the run has failed", true},
		{config.Usual{Median: 1, Worst: .9998}, .995, "as usual", false},
		{config.Usual{Median: 1, Worst: .9998}, .96, "the run has failed", true},
	} {
		if got, fails := c.u.Judge(c.value); got != c.want || fails != c.fails {
			t.Errorf("%v of %+v: %q, %v, want %q, %v", c.value, c.u, got, fails, c.want,
				c.fails)
		}
	}
}
