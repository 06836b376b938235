package registry_test

import (
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/internal/config"
	"github.com/switchyard-ml/switchyard/internal/registry"
)

// TestFamilies_IgnoredOptionsAreFaults: a key that the chosen model has no use for is refused, with what to do.
func TestFamilies_IgnoredOptionsAreFaults(t *testing.T) {
	for _, c := range []struct{ preset, arguments, want string }{
		{"ball", "model.emission_sd=constant", "a bernoulli emission has no standard deviation"},
		{"ball", "model.kind=fusion model.emission_sd=constant", "a bernoulli emission has no standard deviation"},
		{"ball", "model.kind=lstm model.residual=false", "never a change"},
		{"maze", "model.kind=fusion model.emission=bernoulli", "bernoulli needs observations between 0 and 1"},
		{"maze", "model.kind=dvbf model.emission=bernoulli", "bernoulli needs observations between 0 and 1"},
		{"maze", "model.kind=lstm model.emission=bernoulli", "bernoulli needs observations between 0 and 1"},
		{"ball", "model.kind=kvae model.emission=gaussian", "convolutions decode to binary pixels"},
		{"ball", "model.kind=kvae model.convolutions=6", "halve an image as often"},
		{"ball", "model.kind=kvae model.convolutions=0 model.emission_sd=constant", "a bernoulli emission has no standard deviation"},
		{"maze", "model.kind=kvae model.emission=bernoulli", "bernoulli needs observations between 0 and 1"},
		{"maze", "model.switching=deterministic model.measurement=mlp", "a deterministic switch is not inferred"},
		{"maze", "model.switching=deterministic model.measurement_controls=false", "a deterministic switch is not inferred"},
		{"maze", "model.switching=deterministic anneal.kl_switch=1", "a deterministic switch is not inferred"},
		{"maze", "model.switching=deterministic eval.rollout=mode", "only a concrete switch has a most likely system"},
		{"maze", "model.kind=fusion model.initial_observations=20", "leaves nothing to infer"},
		{"maze", "model.kind=fusion model.weights=softmax model.switches=1", "softmax weights of a single system are constant"},
		{"maze", "model.kind=dvbf eval.filter_window=2", "is shorter than the 3 observations of the initial state"},
		{"maze", "model.kind=static model.hidden=8", "model.kind=static has no such key"},
		{"maze", "model.kind=dvbf model.kl_samples=3", "model.kind=dvbf has no such key"},
	} {
		_, err := registry.Builtin().Kinds().Resolve(config.Sources{Preset: c.preset, Arguments: strings.Fields(c.arguments)})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: got %v, want %q", c.preset, c.arguments, err, c.want)
		}
	}
}
