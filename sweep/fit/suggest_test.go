package fit

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/rng"
)

// recordings has recordings of so many steps with d channels; at gives the values.
func recordings(d int, at func(t, channel int) float64, lengths ...int) *files.Dataset {
	set := &files.Dataset{Spec: envs.Spec{Observation: d}}
	for _, n := range lengths {
		var e files.Episode
		e.T, e.Observations, e.Part = n, make([]float32, n*d), files.Unassigned
		for i := range e.Observations {
			e.Observations[i] = float32(at(i/d, i%d))
		}
		set.Episodes = append(set.Episodes, e)
	}
	return set
}

func sine(t, _ int) float64 { return math.Sin(float64(t)) }

// any of the keys that a suggestion can set, or none of them.
func family(name string, keys ...string) Family {
	return Family{Name: name, Has: func(key string) bool { return slices.Contains(keys, key) }}
}

var slds = family("slds", "model.switching", "model.latent", "model.switches", "model.hidden", "model.blocks", "model.initial_observations")

// TestSuggest: what is held out and the window follow from the lengths, the sizes from the number of values.
func TestSuggest(t *testing.T) {
	parted := recordings(1, sine, 40, 30, 20)
	parted.Episodes[1].Part, parted.Episodes[0].Part, parted.Episodes[2].Part = files.Validation, files.Training, files.Test
	climbing := func(t, _ int) float64 { return 50 + 0.1*float64(t) + math.Sin(math.Pi*float64(t)/6) }
	months := recordings(1, climbing, 400)
	months.TimeUnit, months.Spec.DT = "month", 1
	few := recordings(1, climbing, 60)
	few.TimeUnit, few.Spec.DT = "week", 1
	shops := recordings(1, climbing, 100, 100, 100)
	shops.TimeUnit, shops.Spec.DT = "month", 1
	pictures := recordings(64, sine, 100, 100, 100, 100)
	pictures.Image = [3]int{8, 8, 1}
	wide := recordings(6, sine, slices.Repeat([]int{1000}, 20)...)
	for _, c := range []struct {
		name         string
		set          *files.Dataset
		family       Family
		want, absent string
	}{
		{"one recording", recordings(1, sine, 200), slds, "env.files=a.csv env.window=20 model.latent=2 model.switches=2 model.hidden=8 model.blocks=0 train.patience=20 train.batch=16 train.validate_every=100", "env.split env.validation"},
		{"one short recording", recordings(1, sine, 60), slds, "env.validation=0.2 env.test=0.2 env.window=12", ""},
		{"the shortest one", recordings(1, sine, 24), slds, "env.window=5", "model.initial_observations"},
		{"many", recordings(1, sine, slices.Repeat([]int{100}, 30)...), slds, "env.window=50 model.latent=4 model.switches=4 model.hidden=32", "env.split"},
		{"many, the shortest ones may be held out", recordings(1, sine, append(slices.Repeat([]int{100}, 27), 15, 15, 15)...), slds, "env.window=15", "env.split"},
		{"a long one among short ones", recordings(1, sine, 200, 5, 5), slds, "env.split=time env.window=20", ""},
		{"short ones alone", recordings(1, sine, 5, 5, 5, 5), slds, "env.window=5", "env.split"},
		{"windows of three", recordings(1, sine, 3, 3, 3, 3), slds, "model.initial_observations=2", ""},
		{"a split of its own", parted, slds, "env.window=30", "env.split env.validation"},
		{"twenty channels' worth", recordings(2, sine, slices.Repeat([]int{1000}, 12)...), slds, "model.latent=4 model.switches=6 model.hidden=64", "model.units"},
		{"the sizes of the preset", wide, slds, "model.latent=16 model.hidden=256 model.blocks=2 train.patience=20", "model.switches train.batch"},
		{"months", months, slds, "env.transform=diff12 env.window=40 eval.horizon=12", ""},
		{"a season that no window holds", few, slds, "env.window=12", "eval.horizon"},
		{"several series of months", shops, slds, "env.window=50", "env.transform eval.horizon"},
		{"images", pictures, slds, "model.hidden=256 model.blocks=2 model.initial_observations=4 train.patience=20", "train.batch model.latent"},
		{"hundreds of values", recordings(1, sine, 999), slds, "model.latent=2 model.switches=3", ""},
		{"a thousand values", recordings(1, sine, 1000), slds, "model.latent=4 model.switches=3", ""},
		{"another family", recordings(1, sine, 200), family("lstm", "model.units"), "model.kind=lstm env.window=20 model.units=8", "model.hidden"},
		{"a sampler", recordings(1, climbing, 200), family("rslds", "model.sweeps", "model.switches"), "model.kind=rslds model.switches=2", "env.window env.transform model.latent train.patience"},
	} {
		g := Suggest(c.family, []string{"a.csv"}, files.Options{}, c.set)
		got := " " + strings.Join(g.Settings, " ") + " "
		if g.Preset != "files" || !strings.Contains(got, " "+c.want+" ") && !containsEach(got, c.want) {
			t.Errorf("%s: %q %s; want %s", c.name, g.Preset, got, c.want)
		}
		for _, key := range strings.Fields(c.absent) {
			if strings.Contains(got, " "+key+"=") {
				t.Errorf("%s: %s; want no %s", c.name, got, key)
			}
		}
	}
	if g := Suggest(slds, []string{"a.csv"}, files.Options{Transform: "log"}, months); !slices.Contains(g.Settings, "env.transform=log") {
		t.Errorf("a transform that is asked for: %v", g.Settings)
	}
	if g := Suggest(slds, []string{"a.csv"}, files.Options{}, recordings(1, sine, 23)); g.Preset != "" || !strings.Contains(g.Why, "23 steps are too few") {
		t.Errorf("23 steps: %+v", g)
	}
}

// TestRegimes: what was found takes the place of what the number of values pays for, in the keys that the family has.
func TestRegimes(t *testing.T) {
	values := recordings(2, sine, slices.Repeat([]int{1000}, 12)...)
	for _, c := range []struct {
		family       Family
		want, absent string
	}{
		{slds, "model.latent=2 model.switches=3 model.switching=categorical model.start=arhmm model.hidden=64", "6"},
		{family("arhmm", "model.switches", "model.order", "model.sweeps"), "model.kind=arhmm model.switches=3 model.order=1", "6"},
		{family("lstm", "model.units"), "model.kind=lstm", "model.switches"},
	} {
		g := Suggest(c.family, []string{"a.csv"}, files.Options{}, values)
		if had := g.Regimes(c.family, 3, 1, 2); had != c.family.Has("model.switches") {
			t.Errorf("%s: %v", c.family.Name, had)
		}
		got := " " + strings.Join(g.Settings, " ") + " "
		if !containsEach(got, c.want) || strings.Count(got, "model.switches=") > 1 || strings.Contains(got, "switches="+c.absent) {
			t.Errorf("%s: %s; want %s", c.family.Name, got, c.want)
		}
	}
	if g := (&Suggestion{}); g.Regimes(slds, 3, 1, 2) || g.Settings != nil {
		t.Errorf("nothing to suggest: %v", g.Settings)
	}
}

// containsEach reports whether each setting is there, in whatever place.
func containsEach(settings, want string) bool {
	for _, s := range strings.Fields(want) {
		if !strings.Contains(settings, " "+s+" ") {
			return false
		}
	}
	return true
}

// TestReading: settings read files as the options do.
func TestReading(t *testing.T) {
	o := files.Options{
		Observe: []string{"a", "b"}, Control: []string{"c"}, Label: []string{"d"}, Time: "e", Dates: files.DayFirst, ID: "f", Rename: map[string]string{"x": "y", "p": "q"},
		ControlsAfter: true, Resample: "1d", Transform: "log", Cut: 5, DT: 0.5,
	}
	want := "env.observe=a,b env.control=c env.label=d env.time=e env.dates=day-first env.id=f env.rename=p=q,x=y env.controls_after=true env.resample=1d env.transform=log env.cut=5 env.interval=0.5"
	if got := strings.Join(Reading(o), " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := Reading(files.Options{}); got != nil {
		t.Errorf("of no options: %v", got)
	}
}

// TestDrift_FarFromZero: how much of a series is a straight line does not depend on how far from zero it is.
func TestDrift_FarFromZero(t *testing.T) {
	s := rng.New(3, rng.Episode).At(0, 0, 0)
	line, noise := make([]float64, 300), make([]float64, 300)
	for i := range line {
		noise[i] = 1e9 + 0.3*s.Normal()
		line[i] = noise[i] + 0.03*float64(i)
	}
	if a, b := drift(line), drift(noise); !(a > 0.9 && a <= 1) || !(b < 0.1) {
		t.Errorf("a line with noise drifts by %v, noise by %v", a, b)
	}
}

// TestTransforms: trends and walks are learned by their changes, growth by its logarithm, a season by the changes over it;
// what only oscillates stays, and so does what is not positive.
func TestTransforms(t *testing.T) {
	walk := make([]float64, 400)
	state := uint64(4)
	for i := 1; i < len(walk); i++ {
		state = state*6364136223846793005 + 1442695040888963407
		walk[i] = walk[i-1] + float64(state>>40)/(1<<24) - 0.5
	}
	season := func(t int) float64 { return math.Sin(math.Pi * float64(t) / 6) }
	for _, c := range []struct {
		name string
		at   func(t, channel int) float64
		d    int
		unit string
		want string
	}{
		{"a sine", sine, 1, "", ""},
		{"a trend", func(t, _ int) float64 { return 10 + 0.01*float64(t) + 0.1*math.Sin(float64(t)) }, 1, "", "diff"},
		{"a walk", func(t, _ int) float64 { return walk[t] }, 1, "", "diff"},
		{"growth", func(t, _ int) float64 { return math.Exp(0.01*float64(t)) + 0.1*math.Sin(float64(t)) }, 1, "", "log-diff"},
		{"growth that touches zero", func(t, _ int) float64 { return 0.01 * float64(t) }, 1, "", "diff"},
		{"months", func(t, _ int) float64 { return season(t) }, 1, "month", ""},
		{"months with a trend", func(t, _ int) float64 { return 50 + 0.1*float64(t) + season(t) }, 1, "month", "diff12"},
		{"months that hide a trend", func(t, _ int) float64 { return 50 + 0.003*float64(t) + season(t) }, 1, "month", "diff12"},
		{"a slow sine", func(t, _ int) float64 { return math.Sin(float64(t) / 20) }, 1, "", ""},
		{"days with the same trend", func(t, _ int) float64 { return 50 + 0.02*float64(t) + season(t) }, 1, "day", "diff"},
		{"months that grow", func(t, _ int) float64 { return math.Exp(0.01*float64(t) + 0.2*season(t)) }, 1, "month", "log-diff12"},
		{"two of three", func(t, c int) float64 {
			return []float64{math.Sin(float64(t)), 10 + 0.01*float64(t) + 0.1*math.Sin(float64(t)), math.Exp(0.01 * float64(t))}[c]
		}, 3, "", "y2=diff,y3=log-diff"},
	} {
		set := recordings(c.d, c.at, 400)
		set.TimeUnit, set.Spec.DT = c.unit, 1
		if got := suggestedTransforms(set, defaultShare); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	two := recordings(1, func(t, _ int) float64 { return 0.01 * float64(max(t-60, 0)) }, 50, 400)
	if got := suggestedTransforms(two, defaultShare); got != "diff" {
		t.Errorf("a trend in the longer of two: %q", got)
	}
	short := recordings(1, func(t, _ int) float64 { return 50 + 0.1*float64(t) + season(t) }, 40)
	short.TimeUnit, short.Spec.DT = "month", 1
	if got := suggestedTransforms(short, defaultShare); got != "diff" {
		t.Errorf("a season that was seen three times: %q", got)
	}
	many := recordings(1, func(t, _ int) float64 { return math.Exp(0.01*float64(t) + 0.2*season(t)) }, 100, 140, 60, 20)
	many.TimeUnit, many.Spec.DT = "month", 1
	for i := range many.Episodes[1].Observations {
		many.Episodes[1].Observations[i] = 1 + 0.01*float32(i%3)
	}
	if got := suggestedTransforms(many, 0); got != "log-diff12" {
		t.Errorf("three recordings of four grow: %q", got)
	}
	film := recordings(4, func(t, _ int) float64 { return 10 + float64(t) }, 400)
	film.Image = [3]int{2, 2, 1}
	if got := suggestedTransforms(film, defaultShare); got != "" {
		t.Errorf("of images: %q", got)
	}
	late := recordings(1, func(t, _ int) float64 { return math.Sin(float64(t)) + 100*math.Max(0, float64(t)-320) }, 400)
	if got := suggestedTransforms(late, defaultShare); got != "" {
		t.Errorf("a trend of what is held out: %q", got)
	}
	done := recordings(1, func(t, _ int) float64 { return float64(t) }, 400)
	done.Transforms = []files.Transform{{Lag: 1}}
	if got := suggestedTransforms(done, defaultShare); got != "" {
		t.Errorf("of what is transformed already: %q", got)
	}
}
