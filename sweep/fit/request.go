package fit

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/lead/job"
)

// Request says what is fitted, and within what.
type Request struct {
	Kinds    *config.Kinds
	Paths    []string      // files, folders or globs
	Read     files.Options // what is known of the files; the rest is guessed
	Settings []string      // key=value for all candidates, of the sections env and eval
	Families []string      // that are tried; nil: those that suit
	Budget   time.Duration // of all workers; the plan keeps to it by a model of costs
	Workers  int           // that the budget counts for
	Seed     uint64
}

// DefaultBudget is enough for a first answer.
const DefaultBudget = 5 * time.Minute

// data is what a request reads: the recordings, and settings for them that Suggest has found.
type data struct {
	set      *files.Dataset
	how      files.Options
	most     string   // the transform that was suggested, or that suits most recordings of many; empty: none
	common   []string // settings of all candidates
	division []string // of common, those that say what is held out
	// the setting of the window of models that are trained on windows; empty: their own
	window   string
	suggests func(family string) []string // further settings of a family
}

// read reads the files and finds settings that fit. It returns files.ErrData where there are too few of them, and
// config.ErrUsage for a setting that the candidates decide. Paths in settings are absolute. Settings of the
// request take the place of those that were found.
func (r *Request) read() (*data, error) {
	if err := r.settle(); err != nil {
		return nil, err
	}
	paths, err := r.absolute()
	if err != nil {
		return nil, err
	}
	set, how, err := files.ReadGuessed(r.Paths, r.Read)
	if err != nil {
		return nil, err
	}
	d := &data{set: set, how: how}
	d.suggests = func(family string) []string {
		_, own := r.suggested(family, paths, d)
		return own
	}
	// A family that is trained on windows is asked, so that a window is among the settings.
	g, _ := r.suggested("slds", paths, d)
	if g.Preset == "" {
		return nil, &files.Error{File: strings.Join(r.Paths, ", "), Problem: g.Why}
	}
	// Settings of the data are for all candidates; the window is for those that are trained on windows.
	for _, s := range g.Settings {
		key, _, _ := strings.Cut(s, "=")
		switch {
		case key == "env.window":
			d.window = s
		case key == "env.split" || key == "env.validation" || key == "env.test":
			d.division = append(d.division, s)
			d.common = append(d.common, s)
		case key == "env.transform":
			_, d.how.Transform, _ = strings.Cut(s, "=")
		case strings.HasPrefix(key, "env."):
			d.common = append(d.common, s)
		}
	}
	for _, s := range r.Settings {
		switch key, _, _ := strings.Cut(s, "="); key {
		case "env.window": // simple candidates have none
			d.window = s
		case "env.transform": // it is read with the files; simple rules see what was observed
		default:
			d.common = override(d.common, []string{s})
		}
	}
	if d.most = d.how.Transform; d.most == "" && len(set.Episodes) >= fewEpisodes {
		share := 0.0
		if by, _ := valueOf(d.common, "env.split"); by == "time" {
			share = max(defaultShare, numberOf(d.common, "env.validation"))
		}
		d.most = suggestedTransforms(set, share)
	}
	return d, nil
}

// changing is room, in bytes, for what candidates have in a configuration beside the settings of all of them.
const changing = 64 << 10

// absolute are the paths of the request in the form in which the candidates name them. One with a comma, and more
// of them than a configuration has room for, are a config.ErrUsage: that is found before the files are read, which may
// take minutes.
func (r *Request) absolute() ([]string, error) {
	paths := make([]string, len(r.Paths))
	for i, p := range r.Paths {
		var err error
		if paths[i], err = filepath.Abs(p); err != nil {
			return nil, fmt.Errorf("find the files: %w", err)
		}
	}
	list, err := job.Listed(paths)
	if err != nil {
		return nil, err
	}
	resolved, err := r.Kinds.Resolve(config.Sources{
		Preset: "files", Arguments: append(slices.Clone(r.Settings), "env.files="+list),
	})
	if err != nil {
		return nil, err
	}
	return paths, job.Fits(resolved.Config, changing)
}

// settle checks seed and settings, and completes r.Read by those that say how files are read. Where both say it, the
// settings count, as they do for the candidates.
func (r *Request) settle() error {
	if r.Seed > math.MaxInt64 {
		return config.Usagef("--seed %d: at most %d", r.Seed, uint64(math.MaxInt64))
	}
	for _, s := range r.Settings {
		if err := r.check(s); err != nil {
			return err
		}
	}
	resolved, err := r.Kinds.Resolve(config.Sources{Preset: "files", Arguments: r.Settings})
	if err != nil {
		return err
	}
	own, ok := resolved.Config.Env.Settings.(*files.Settings)
	if !ok {
		return nil
	}
	how, err := own.Options()
	if err != nil {
		return err
	}
	how.Limit = r.Read.Limit
	r.Read = how.Or(r.Read)
	return nil
}

// suggested are settings for a family, and of these the ones that are its own.
func (r *Request) suggested(family string, paths []string, d *data) (g Suggestion, own []string) {
	how := d.how
	how.Transform = r.Read.Transform
	g = Suggest(r.family(family), paths, how, d.set)
	for _, s := range g.Settings {
		if strings.HasPrefix(s, "model.") && !strings.HasPrefix(s, "model.kind=") || strings.HasPrefix(s, "train.") {
			own = append(own, s)
		}
	}
	return g, own
}

// family is a family as Suggest asks for it: which keys it has.
func (r *Request) family(name string) Family {
	return Family{Name: name, Has: func(key string) bool { return r.Kinds.Has(key, "model.kind="+name) }}
}

// check refuses settings that the candidates decide, and those in whose place the paths are. The error is a
// config.ErrUsage.
func (r *Request) check(setting string) error {
	key, _, ok := strings.Cut(setting, "=")
	section, _, _ := strings.Cut(key, ".")
	if key == "env.files" || key == "env.kind" {
		return config.Usagef("%s: fit takes its files as arguments", setting)
	}
	if !ok || section != "env" && section != "eval" {
		return config.Hint(config.Usagef("%s: fit takes settings of the sections env and eval alone", setting),
			"the candidates decide the others; train files takes all keys")
	}
	return nil
}

// override puts settings in the place of those with the same key, or behind the others. list is not changed.
func override(list, with []string) []string {
	out := append([]string(nil), list...)
next:
	for _, s := range with {
		key, _, _ := strings.Cut(s, "=")
		for i, o := range out {
			if strings.HasPrefix(o, key+"=") {
				out[i] = s
				continue next
			}
		}
		out = append(out, s)
	}
	return out
}

// numberOf is the value of a key among settings as a number; 0 if it is not there, or no number.
func numberOf(settings []string, key string) float64 {
	text, _ := valueOf(settings, key)
	v, _ := strconv.ParseFloat(text, 64)
	return v
}

// valueOf is the value of a key among settings key=value, the first of several; false if it is not there.
func valueOf(settings []string, key string) (string, bool) {
	for _, s := range settings {
		if v, ok := strings.CutPrefix(s, key+"="); ok {
			return v, true
		}
	}
	return "", false
}
