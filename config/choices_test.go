package config_test

import (
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/config"
)

// TestPrefer: what a preset says of a key that its own switch chooses has precedence over the choice, and the user's
// word over both. With another switch the preset's word is not for it. A preset that says nothing of the switch, or
// stands below the one that does, says nothing of what the switch chooses.
func TestPrefer(t *testing.T) {
	for _, test := range []struct{ preset, arguments, want string }{
		{"bounce", "", "anneal.kl_until=0.6 anneal.kl_start=0.1 model.skip=true"},
		{"bounce", "model.switching=categorical", "anneal.kl_until=0.6 anneal.kl_start=0.1 model.skip=true"},
		{"bounce", "anneal.kl_until=0.5", "anneal.kl_until=0.5"},
		{"bounce", "model.switching=concrete", "anneal.kl_until=0 anneal.kl_start=1 model.skip=false"},
		{"bounce", "model.switching=concrete anneal.kl_until=0.2 anneal.kl_start=0.1", "anneal.kl_until=0.2"},
		{"bounce", "model.kind=rslds", "train.checkpoint_every=50"},
		{"modes", "", "anneal.kl_until=0.3 anneal.kl_start=0.1"},
		{"fhn", "model.switching=categorical", "anneal.kl_until=0.3 model.emission_sd=constant"},
		{"maze/quick", "model.switching=categorical", "model.emission_sd=constant model.weights=softmax"},
		{"maze/quick", "", "model.emission_sd=state anneal.kl_until=0"},
	} {
		r, err := kinds().Resolve(config.Sources{Preset: test.preset, Arguments: strings.Fields(test.arguments)})
		if err != nil {
			t.Errorf("%s %s: %v", test.preset, test.arguments, err)
			continue
		}
		for _, want := range strings.Fields(test.want) {
			key, value, _ := strings.Cut(want, "=")
			if got := valueOf(string(r.Config.YAML()), key); got != value {
				t.Errorf("%s %s: %s is %q, want %q", test.preset, test.arguments, key, got, value)
			}
		}
	}
}

// valueOf reads a key from a configuration as YAML writes it.
func valueOf(text, path string) string {
	section, name, _ := strings.Cut(path, ".")
	_, text, _ = strings.Cut(text, "\n"+section+":\n")
	_, text, _ = strings.Cut(text, "  "+name+": ")
	text, _, _ = strings.Cut(text, "\n")
	return text
}
