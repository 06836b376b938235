package config_test

import (
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/config"
)

// TestStart_OfASwitch: what a start cannot begin from is one error that names it.
func TestStart_OfASwitch(t *testing.T) {
	for _, test := range []struct{ arguments, want string }{
		{"model.start=arhmm", ""},
		{"model.start=arhmm model.skip=false", "model.skip"},
		{"model.start=arhmm model.hidden=7 model.latent=4", "model.hidden=8"},
		{"model.start=arhmm model.latent=33 model.hidden=66", "32 latent dimensions"},
		{"model.start=arhmm model.switches=33", "32 systems"},
		{"model.start=arhmm env.kind=nascar env.observations=257", "257"},
		{"model.start=arhmm model.switching=normal", "model.switching"},
		{"model.start=arhmm model.bodies=2 model.latent=2", "one body"},
		{"model.start=hmm", "arhmm"},
	} {
		_, err := kinds().Resolve(config.Sources{Preset: "modes/smoke", Arguments: strings.Fields(test.arguments)})
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s: %v", test.arguments, err)
		case test.want != "" && err == nil:
			t.Errorf("%s: no error", test.arguments)
		case err != nil:
			text := err.Error() + config.HintOf(err)
			if !strings.Contains(text, test.want) || !strings.Contains(text, "model.start") || strings.Count(text, "\n") > 1 {
				t.Errorf("%s: the error is %q, want one that names %s", test.arguments, text, test.want)
			}
		}
	}
}
