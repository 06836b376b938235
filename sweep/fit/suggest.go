package fit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/lead/job"
)

// Suggestion is a configuration to begin with.
type Suggestion struct {
	Preset   string   `json:"preset"`   // empty if no run can begin with these files
	Settings []string `json:"settings"` // key=value
	Why      string   `json:"why"`
}

// Family is a family of models that a suggestion is for.
type Family struct {
	Name string                // the value of model.kind
	Has  func(key string) bool // whether it has a key, e.g. model.hidden
}

// fitsItself reports whether models of the family fit themselves to whole recordings, without windows and gradient.
func (f Family) fitsItself() bool { return f.Has("model.sweeps") || f.Has("model.season") }

// Windows are long enough to show the dynamics and short enough to train fast.
const (
	longestWindow  = 50
	shortestWindow = 4  // the first states are inferred from at most 3 steps
	goodWindow     = 12 // shorter ones are taken only where data are few
	fewestSteps    = 24 // of data that can be divided by time
)

// Suggest finds settings for a run on data that were read from paths with options.
//
// It trains nothing, and the same data have the same suggestion. Preset is empty, and Why says the reason, where
// there are too few steps, or where env.files cannot name a path. how is not changed; a transform is suggested only
// where it asks for none, for one or two recordings that are divided by time.
func Suggest(family Family, paths []string, how files.Options, d *files.Dataset) Suggestion {
	list, err := job.Listed(paths)
	if err != nil {
		return Suggestion{Settings: []string{}, Why: fmt.Sprintf("%v: %s", err, config.HintOf(err))}
	}
	division, ok := divide(d)
	each := eachScaled(d, how)
	if each {
		longest := 0
		for i := range d.Episodes {
			longest = max(longest, d.Episodes[i].T)
		}
		// A scale of its own needs a beginning of each recording that training sees.
		if by, can := byTime(longest); can {
			division, ok = by, true
		} else {
			each = false
		}
	}
	if !ok {
		return Suggestion{Settings: []string{}, Why: fmt.Sprintf("%d steps are too few: a recording needs %d, or there "+
			"have to be more of them", d.Steps(), fewestSteps)}
	}
	g := Suggestion{Preset: "files"}
	set := func(key string, value any) { g.Settings = append(g.Settings, fmt.Sprintf("%s=%v", key, value)) }
	set("env.files", list)
	single := division.byTime && len(d.Episodes) < fewEpisodes
	if how.Transform == "" && single && !family.fitsItself() {
		how.Transform = suggestedTransforms(d, division.share)
	}
	g.Settings = append(g.Settings, Reading(how)...)
	if family.Name != "slds" {
		set("model.kind", family.Name)
	}
	if each {
		set("env.normalise", files.EachRecording)
	}
	if division.byTime && (each || len(d.Episodes) >= fewEpisodes) {
		set("env.split", "time")
	}
	if division.share != defaultShare {
		set("env.validation", division.share)
		set("env.test", division.share)
	}
	if !family.fitsItself() { // a sampler takes whole recordings
		set("env.window", division.window)
	}
	if season := d.Season(); single && season > 10 && season <= division.window {
		set("eval.horizon", season)
	}
	g.size(family, d, division.window)
	return g
}

// eachScaled reports whether each recording gets a scale of its own: where they differ much in scale, and training sees
// the beginning of each.
func eachScaled(d *files.Dataset, how files.Options) bool {
	return len(d.Episodes) > 1 && d.Episodes[0].Part == files.Unassigned && how.Cut == 0 &&
		!strings.Contains(how.Transform, "log") && d.Apart()
}

// Reading are the settings of the section env by which a run reads files as options do, in one order whatever the
// options; what is not set is left out.
func Reading(o files.Options) []string {
	var list []string
	set := func(key string, value string) {
		if value != "" {
			list = append(list, "env."+key+"="+value)
		}
	}
	set("observe", strings.Join(o.Observe, ","))
	set("control", strings.Join(o.Control, ","))
	set("label", strings.Join(o.Label, ","))
	set("time", o.Time)
	set("dates", o.Dates)
	set("id", o.ID)
	var renames []string
	for from, to := range o.Rename {
		renames = append(renames, from+"="+to)
	}
	slices.Sort(renames)
	set("rename", strings.Join(renames, ","))
	if o.ControlsAfter {
		set("controls_after", "true")
	}
	set("resample", o.Resample)
	set("transform", o.Transform)
	if o.Cut > 0 {
		set("cut", fmt.Sprint(o.Cut))
	}
	if o.DT > 0 {
		set("interval", fmt.Sprint(o.DT))
	}
	return list
}

// size sets what the number of values can pay for, and says why. Keys that the family does not have are left out,
// so that one list serves all.
func (g *Suggestion) size(family Family, d *files.Dataset, window int) {
	set := func(key string, value any) {
		if section, _, _ := strings.Cut(key, "."); section != "model" || family.Has(key) {
			g.Settings = append(g.Settings, fmt.Sprintf("%s=%v", key, value))
		}
	}
	nx, first := d.Spec.Observation, 3 // model.initial_observations of the preset
	values := d.Observed()
	s := sizeFor(values)
	switch {
	case d.Images():
		g.Why = "images, as the ball in a box"
		set("model.hidden", 256)
		set("model.blocks", 2)
		set("model.encoder_hidden", 1024)
		set("model.emission", "bernoulli")
		first = 4
	case s.hidden == 0:
		g.Why = fmt.Sprintf("%s values: the sizes of the preset", terminal.Group(values))
		if nx > 4 {
			g.Why = fmt.Sprintf("%s values of %d channels: a wide network and latent state", terminal.Group(values), nx)
			if !family.fitsItself() {
				set("model.latent", max(16, min(2*nx, 64)))
			}
			set("model.hidden", 256)
			set("model.blocks", 2)
		}
	default:
		g.Why = fmt.Sprintf("%s values: a small model, and training that stops when validation worsens",
			terminal.Group(values))
		if !family.fitsItself() { // the state of a sampler is the observation
			latent := max(2, nx+1)
			if values >= longSeries*nx {
				latent = max(latent, 4)
			}
			set("model.latent", min(latent, s.latent))
		}
		set("model.switches", s.switches)
		set("model.hidden", s.hidden)
		set("model.blocks", 0)
		set("model.units", s.hidden)
		set("model.leaves", 2)
	}
	if !d.Images() && values >= discreteFrom {
		set("model.switching", "categorical")
	}
	if !family.fitsItself() { // a sampler is not validated
		set("train.patience", 20)
		if s.hidden > 0 && !d.Images() {
			set("train.batch", s.batch)
			set("train.validate_every", 100)
		}
	}
	// The first state must leave a step to predict within a window.
	if first = min(first, window-1); first != 3 {
		set("model.initial_observations", first)
	}
}

// Regimes puts sizes that were found by evidence in the place of those that the number of values pays for: so many
// regimes, and a state of so many lags and dimensions. Networks beside a state of few dimensions are those that
// the discrete switch has on own data, if they would be larger. It reports whether the family has regimes. If not,
// or without a preset, nothing changes.
func (g *Suggestion) Regimes(family Family, regimes, lags, latent int) bool {
	var own []string
	switch {
	case g.Preset == "" || !family.Has("model.switches"):
		return false
	case family.Has("model.order"):
		own = []string{fmt.Sprintf("model.switches=%d", regimes), fmt.Sprintf("model.order=%d", lags)}
	case family.Name == "slds":
		own = []string{
			fmt.Sprintf("model.latent=%d", latent), fmt.Sprintf("model.switches=%d", regimes), "model.switching=categorical",
		}
		if latent <= mostStarted {
			own = append(own, "model.start=arhmm", fmt.Sprintf("model.hidden=%d", max(2*latent, min(g.hidden(), 64))),
				"model.blocks=0")
		}
	default:
		own = []string{fmt.Sprintf("model.switches=%d", regimes)}
	}
	for _, s := range own {
		key, _, _ := strings.Cut(s, "=")
		at := slices.IndexFunc(g.Settings, func(o string) bool { return strings.HasPrefix(o, key+"=") })
		if at < 0 {
			g.Settings = append(g.Settings, s)
		} else {
			g.Settings[at] = s
		}
	}
	return true
}

// mostStarted is the largest state that model.start=arhmm begins with: MostStarted of package categorical.
const mostStarted = 32

// hidden is the value of model.hidden among the settings; 64 if it is not there.
func (g *Suggestion) hidden() int {
	for _, s := range g.Settings {
		if text, ok := strings.CutPrefix(s, "model.hidden="); ok {
			n, _ := strconv.Atoi(text)
			return n
		}
	}
	return 64
}

// longSeries is the number of values of a channel that teach a state of four dimensions: one that remembers more than
// the last value and its change.
const longSeries = 1000

// discreteFrom is the number of values from which the discrete switch, which is summed out, is suggested. On files of
// fhn, reacher and maze with 12,000 to 80,000 values its squared error 20 steps ahead is .17, .66 and .65 of that of a
// relaxed switch of the same sizes, in .4 to .65 of the time (docs/results/regimes.md). Smaller files were not
// measured.
const discreteFrom = 5000

// size is what a number of values can pay for: about as many parameters as values, and no network of fewer than eight
// units. hidden 0: the sizes of the preset.
type size struct{ latent, switches, hidden, batch int }

// sizeFor is the size that so many values pay for, larger from 500, 3,000 and 20,000 values on, and that of the
// preset from 100,000.
func sizeFor(values int) size {
	for _, row := range []struct {
		below int
		size  size
	}{{500, size{3, 2, 8, 16}}, {3000, size{4, 3, 16, 32}}, {20000, size{6, 4, 32, 32}}, {100000, size{8, 6, 64, 64}}} {
		if values < row.below {
			return row.size
		}
	}
	return size{}
}
