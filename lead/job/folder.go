package job

import (
	"strings"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/internal/setting"
	"github.com/switchyard-ml/switchyard/store"
)

// Origin says who asked for a run, and with which settings.
type Origin struct {
	Name      string   // empty: the first free name with the stem of the configuration
	Overrides []string // settings on top of the preset
	Command   []string // the command line that asked for the run
	Host      bool     // a coordinator of many runs leads it
	Sweep     string   // the sweep whose trial it is; empty: none
	Request   string   // the submission that asked for it; empty: it was not submitted
}

// MakeRun makes the folder of a run of the plan in dir, and holds it: the caller closes the run. run.json says what
// the run is and by which program it was begun. Errors are those of store.Create, store.ErrOccupied for a name that
// is taken.
func (p *Plan) MakeRun(dir string, o Origin) (*store.Run, error) {
	c := p.Config
	info := store.Info{
		Steps: c.Train.Steps, Preset: c.Preset, Seed: c.Seed, ConfigSHA256: c.Digest(), Parameters: len(p.Theta),
		Versions: Versions(), GitRevision: Revision(), Command: o.Command, Host: o.Host, Sweep: o.Sweep,
		Request: o.Request,
	}
	for _, t := range p.Terms {
		info.Terms = append(info.Terms, store.Term{
			Name: t.Name, Label: t.Label, Unit: t.Unit, Weight: t.Weight,
			Note: t.Note,
		})
	}
	scale, err := p.Data.kept()
	if err != nil {
		return nil, err
	}
	return store.Create(dir, store.Draft{
		Name: o.Name, Stem: Stem(c), Config: c.YAML(), Overrides: o.Overrides, Normalisation: scale, Info: info,
	})
}

// Stem begins the name of a run that was given no name. It is made of the preset and the variant of the model; "run"
// if that is no valid name.
func Stem(c config.Config) string {
	name := strings.ReplaceAll(c.Preset, "/", "-")
	if variant := config.Describe(c).Variant; variant != "" {
		name += "-" + variant
	}
	if setting.CheckRun(name+"-1") != nil {
		return "run"
	}
	return name
}
