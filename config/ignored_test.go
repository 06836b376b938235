package config_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/config"
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
		{"maze", "model.switching=deterministic eval.rollout=mode", "only a concrete or categorical switch has a most likely system"},
		{"maze", "model.switching=deterministic eval.rollout=mean", "nothing to draw"},
		{"maze", "model.switching=normal anneal.posterior=0.5", "it has no effect without model.switching=concrete"},
		{"maze", "model.switching=normal anneal.every=7", "it has no effect without model.switching=concrete"},
		{"maze", "model.switching=normal model.gate=false", "it has no effect without model.switching=concrete"},
		{"maze", "model.switching=normal model.hard=true", "only a concrete switch can be discrete"},
		{"maze", "model.switching=concrete anneal.rate=1 anneal.every=7", "the temperatures never move"},
		{"ball", "model.switching=concrete model.measurement_controls=false", "env.kind=ball has no controls"},
		{"ball", "model.kind=kvae model.hidden=7", "by convolutions, not by residual networks"},
		{"ball", "model.kind=kvae model.blocks=3", "by convolutions, not by residual networks"},
		{"ball", "model.kind=kvae model.encoder_hidden=9", "by convolutions, not by residual networks"},
		{"ball", "model.kind=kvae model.convolutions=0 model.channels=7", "there are no convolutions"},
		{"maze", "model.kind=kvae model.convolutions=2", "are vectors"},
		{"maze", "model.kind=kvae model.channels=7", "are vectors"},
		{"files", "env.files=x.npz model.kind=kvae model.convolutions=2", "are vectors"},
		{"files", "env.files=x.npz model.kind=kvae model.channels=7", "are vectors"},
		{"maze", "train.outer_rate=0.5", "it has no effect without train.method=diloco"},
		{"maze", "train.outer_momentum=0.5", "it has no effect without train.method=diloco"},
		{"maze", "train.method=diloco train.replicas=2 train.local_steps=100 optim.outlier=50", "the running norm restarts in each round"},
		{"maze", "train.replicas=2", "has no replicas"},
		{"maze", "train.local_steps=2", "has no local steps"},
		{"maze", "model.kind=rslds optim.rate=0.1", "model.kind=rslds has no use for it"},
		{"maze", "model.kind=rslds train.batch=8", "model.kind=rslds has no use for it"},
		{"maze", "model.kind=rslds train.patience=5", "model.kind=rslds has no use for it"},
		{"maze", "model.kind=arhmm train.patience=5", "model.kind=arhmm has no use for it"},
		{"maze", "model.kind=rslds prior.shrink=0.5", "it has no effect without model.kind=trslds"},
		{"maze", "model.kind=trslds prior.emission=3", "it has no effect without model.observation=linear"},
		{"maze", "model.kind=trslds model.latent=3", "it has no effect without model.observation=linear"},
		{"maze", "model.kind=lstm eval.importance=3", "draws no latent variables"},
		{"maze", "model.kind=linear eval.importance=3", "draws no latent variables"},
		{"maze", "model.kind=static eval.importance=3", "draws no latent variables"},
		{"maze", "model.kind=rslds eval.importance=3", "draws no latent variables"},
		{"maze", "model.kind=fusion model.initial_observations=20", "leaves nothing to infer"},
		{"maze", "model.kind=fusion model.weights=softmax model.switches=1", "softmax weights of a single system are constant"},
		{"maze", "model.kind=dvbf eval.filter_window=2", "is shorter than the 3 observations of the initial state"},
		{"maze", "model.kind=static eval.filter_window=5", "from the last observation alone"},
		{"maze", "model.kind=linear eval.filter_window=5", "from the last observation alone"},
		{"modes", "model.kind=naive eval.filter_window=5", "repeats the last season"},
		{"modes", "model.kind=arhmm model.switches=1 eval.filter_window=5", "from its lags alone"},
		{"modes", "model.kind=arhmm model.order=8 eval.filter_window=5", "shorter than the 8 lags"},
		{"modes", "model.kind=arhmm model.switches=1 model.noise=common", "shares its noise with no other"},
		{"modes", "model.kind=arhmm model.switches=1 model.first=stationary", "always the first"},
		{"modes", "model.kind=arhmm model.order=2 model.past_controls=1", "env.kind=modes has no controls"},
		{"modes", "model.kind=rslds model.controls=withheld", "env.kind=modes has no controls"},
		{"modes", "model.kind=rslds model.leaves=2 model.shape=balanced", "trees of 2 leaves have one shape"},
		{"modes", "model.kind=rslds model.leaves=1 prior.plane=7", "divided by no hyperplane"},
		{"maze", "model.kind=rslds model.leaves=1 model.start=arhmm", "a single leaf has all steps"},
		{"modes", "model.kind=trslds model.leaves=1 prior.shrink=0.5", "a single leaf has no node above it"},
		{"ball", "model.kind=kvae model.switches=1 model.units=7", "a single system is mixed with no other"},
		{"ball", "model.kind=kvae model.switches=1 anneal.mixing_from=7", "a single system is mixed with no other"},
		{"ball", "eval.filter_window=5", "predictions of images begin"},
		{"fhn", "optim.schedule=cosine optim.decay=0.5", "it has no effect without optim.schedule=exponential"},
		{"fhn", "optim.schedule=cosine optim.decay_every=5", "it has no effect without optim.schedule=exponential"},
		{"fhn", "anneal.until=0.5 anneal.every=7", "whatever anneal.every is"},
		{"fhn", "anneal.start=1 anneal.rate=0.5", "final from the beginning"},
		{"fhn", "anneal.start=1 anneal.until=0.7", "final from the beginning"},
		{"files", "env.files=x.csv env.episodes=7", "has its own episodes"},
		{"files", "env.files=x.csv env.length=7", "have their own lengths"},
		{"files", "env.files=x.csv eval.filter_window=5", "or a whole one if they are split by time"},
		{"maze/smoke", "model.bodies=1,2,3,4,5,6:1", "lists a single body"},
		{"maze", "model.switching=deterministic model.bodies=01 model.interactions=4", "a single body has no other to act on it"},
		{"maze", "model.kind=static model.hidden=8", "model.kind=static has no such key"},
		{"maze", "model.kind=dvbf model.kl_samples=3", "model.kind=dvbf has no such key"},
	} {
		_, err := config.Builtin().Kinds().Resolve(config.Sources{Preset: c.preset, Arguments: strings.Fields(c.arguments)})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: got %v, want %q", c.preset, c.arguments, err, c.want)
		}
	}
	for _, fine := range []string{"train.local_steps=200 optim.outlier=50", "train.local_steps=100 optim.outlier=0", "train.local_steps=100"} {
		arguments := append(strings.Fields(fine), "train.method=diloco", "train.replicas=2")
		if _, err := config.Builtin().Kinds().Resolve(config.Sources{Preset: "maze", Arguments: arguments}); err != nil {
			t.Errorf("maze %s: %v", arguments, err)
		}
	}
}

// TestFamilies_UnusedKeysRefuseNothing: a key that the model has no use for, and that nobody can change, is at odds with
// no other.
func TestFamilies_UnusedKeysRefuseNothing(t *testing.T) {
	for _, family := range fitters(t) {
		// The window of the preset has 40 steps.
		if c := resolveKinds(t, "modes", "model.kind="+family, "env.length=20"); c.Env.Length != 20 {
			t.Errorf("%s: episodes have %d steps", family, c.Env.Length)
		}
	}
}

// TestFamilies_EveryKeyWithACondition of every family, and every one that all configurations have, is refused where its
// condition does not hold and a user has changed it; its default is not, and neither is what a preset says.
func TestFamilies_EveryKeyWithACondition(t *testing.T) {
	kinds := config.Builtin().Kinds()
	tried := 0
	for _, family := range config.Builtin().Kinds().Families() {
		base := resolveKinds(t, "maze/quick", "model.kind="+family)
		for _, k := range kinds.Keys() {
			switch key, _, _ := strings.Cut(k.Only, "="); {
			case k.Only == "", len(k.Kinds) > 0 && !slices.Contains(k.Kinds, "model.kind="+family):
				continue
			case key == "model.kind" && k.Only == "model.kind="+family:
				continue
			default:
				arguments := []string{"model.kind=" + family}
				if other := without(t, kinds, key, k.Only); key != "model.kind" && !strings.HasPrefix(key, "train.") {
					arguments = append(arguments, other)
				}
				usual, changed := values(t, base, k)
				refused := func(argument string) bool {
					_, err := kinds.Resolve(config.Sources{Preset: "maze/quick", Arguments: append(slices.Clone(arguments), k.Path+"="+argument)})
					return err != nil && strings.Contains(err.Error(), k.Path)
				}
				if _, err := kinds.Resolve(config.Sources{Preset: "ball", Arguments: arguments}); err != nil && strings.Contains(err.Error(), k.Path+":") {
					t.Errorf("%s: what the preset says of %s is refused: %v", arguments, k.Path, err)
				}
				if unit := strings.Contains(strings.Join(arguments, " "), "bernoulli"); !unit && refused(usual) {
					t.Errorf("%s: the usual %s=%s is refused", arguments, k.Path, usual)
				}
				if !refused(changed) {
					t.Errorf("%s: %s=%s is ignored", arguments, k.Path, changed)
				}
				tried++
			}
		}
	}
	if tried < 15 {
		t.Errorf("only %d keys have a condition", tried)
	}
}

// without sets the key of a condition to another of its values.
func without(t *testing.T, kinds *config.Kinds, key, only string) string {
	t.Helper()
	for _, k := range kinds.Keys() {
		for _, value := range k.Values {
			if k.Path == key && key+"="+value != only {
				return key + "=" + value
			}
		}
	}
	t.Fatalf("no other value than %s", only)
	return ""
}

// values are the value that a configuration has, and another one.
func values(t *testing.T, c config.Config, k config.Key) (usual, changed string) {
	t.Helper()
	section := ""
	for line := range strings.Lines(string(c.YAML())) {
		text, _, _ := strings.Cut(line, "#")
		name, value, _ := strings.Cut(strings.TrimSpace(text), ":")
		switch value = strings.TrimSpace(value); {
		case value == "":
			section = name
		case section+"."+name == k.Path:
			usual = value
		}
	}
	if usual == "" {
		t.Fatalf("the configuration has no %s", k.Path)
	}
	switch {
	case k.Type == "boolean":
		return usual, map[string]string{"true": "false", "false": "true"}[usual]
	case len(k.Values) > 0:
		return usual, k.Values[(slices.Index(k.Values, usual)+1)%len(k.Values)]
	case k.Type == "integer":
		return usual, "3"
	}
	return usual, "0.4321"
}
