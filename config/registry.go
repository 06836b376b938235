package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/envs/ball"
	"github.com/switchyard-ml/switchyard/envs/fhn"
	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/envs/hopper"
	"github.com/switchyard-ml/switchyard/envs/maze"
	"github.com/switchyard-ml/switchyard/envs/reacher"
	"github.com/switchyard-ml/switchyard/envs/regimes"
	"github.com/switchyard-ml/switchyard/internal/setting"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/arhmm"
	"github.com/switchyard-ml/switchyard/model/dvbf"
	"github.com/switchyard-ml/switchyard/model/gibbs"
	"github.com/switchyard-ml/switchyard/model/kvae"
	"github.com/switchyard-ml/switchyard/model/pointwise"
	"github.com/switchyard-ml/switchyard/model/slds"
	"github.com/switchyard-ml/switchyard/rng"
)

// Registry lists the kinds of environments and the families of models. It does not change, and may be used
// concurrently.
type Registry struct {
	environments []envs.Kind
	families     []model.Family
	kinds        *Kinds
}

// Own are the kinds that a user adds.
type Own struct {
	// Values of env.kind, with names that no other kind has.
	Environments []envs.Kind
	// Values of model.kind, likewise.
	Families []model.Family
}

// builtin is all that comes with Switchyard.
func builtin() Own {
	return Own{
		Environments: []envs.Kind{
			fhn.Kind(), maze.Kind(), reacher.Kind(), ball.Kind(), hopper.Kind(), files.Kind(),
			envs.NoiseKind(), regimes.ModesKind(), regimes.StickyKind(), regimes.BounceKind(), regimes.NASCARKind(),
			regimes.LorenzKind(),
		},
		Families: []model.Family{
			slds.Family(), dvbf.FusionFamily(), dvbf.Family(), kvae.Family(), pointwise.LSTM(),
			pointwise.Static(), pointwise.Linear(), gibbs.RSLDS(), gibbs.TrSLDS(), arhmm.Family(),
			pointwise.Naive(),
		},
	}
}

// New returns a registry of what comes with Switchyard and the user's own kinds. It returns an error if the name or a
// key of an own kind is taken, or if a key is described wrongly.
func New(own Own) (*Registry, error) {
	all := builtin()
	r := &Registry{
		environments: append(all.Environments, own.Environments...),
		families:     append(all.Families, own.Families...),
	}
	var env, families []Kind
	for _, k := range r.environments {
		if k.Settings == nil {
			return nil, fmt.Errorf("register env.kind=%s: it has no Settings", k.Name)
		}
		env = append(env, r.environment(k))
	}
	for _, f := range r.families {
		if f.Settings == nil {
			return nil, fmt.Errorf("register model.kind=%s: it has no Settings", f.Name)
		}
		families = append(families, r.family(f))
	}
	kinds, err := NewKinds(env, families)
	if err != nil {
		return nil, fmt.Errorf("register: %w", err)
	}
	r.kinds = kinds
	return r, nil
}

// Builtin returns the registry of what comes with Switchyard.
func Builtin() *Registry {
	r, err := New(Own{})
	if err != nil {
		panic(err) // a mistake of this program; the tests of the kinds find it
	}
	return r
}

// Of is the registry of kinds that were made by one. It has nothing but Kinds.
func Of(kinds *Kinds) *Registry { return &Registry{kinds: kinds} }

// environment makes a Kind of a kind of environments. Its checks ask the settings of the configuration, if those
// have any.
func (r *Registry) environment(k envs.Kind) Kind {
	// Only one kind of settings reads files.
	_, recorded := k.Settings().(*files.Settings)
	return Kind{
		Name: k.Name, Doc: k.Doc, Recorded: recorded,
		Settings: func() any { return k.Settings() },
		Check: func(c *Config) []setting.Fault {
			if s, ok := c.Env.Settings.(envs.Checker); ok {
				return s.Check()
			}
			return nil
		},
		Ignored: func(c *Config) []setting.Fault { return withoutEffect(c, recorded) },
	}
}

// withoutEffect returns the common settings that recordings and images do not use.
func withoutEffect(c *Config, recorded bool) []setting.Fault {
	const prefix = "leave it out; eval --prefix says how many steps are seen"
	if !recorded {
		if d, _, err := Data(*c); err == nil && d.Image != [3]int{} {
			return []setting.Fault{setting.Faultf([]string{"eval.filter_window", "env.kind"}, prefix,
				"predictions of images begin after the first steps of an episode")}
		}
		return nil
	}
	faults := []setting.Fault{setting.Faultf([]string{"eval.filter_window", "env.kind"}, prefix,
		"predictions of recordings begin after half a training window, or a whole one if they are split by time")}
	// In the configuration of a run they are those of the data that it has read.
	if s, ok := c.Env.Settings.(*files.Settings); ok && s.Hash == "" {
		faults = append(faults,
			setting.Faultf([]string{"env.episodes", "env.kind"}, "leave it out; env.cut makes episodes of long recordings",
				"env.kind=files has its own episodes"),
			setting.Faultf([]string{"env.length", "env.kind"}, "leave it out, or set env.window or env.cut",
				"the episodes of env.kind=files have their own lengths"))
	}
	return faults
}

// family makes a Kind of a family of models. What the family decides depends on which interfaces its settings
// implement: model.Checker and model.Ignoring find faults, model.Sweeping replaces updates, model.Choosing has its
// own defaults.
func (r *Registry) family(f model.Family) Kind {
	kind := Kind{
		Name: f.Name, Doc: f.Doc,
		Settings: func() any { return f.Settings() },
		Check: func(c *Config) []setting.Fault {
			s, ok := c.Model.Settings.(model.Checker)
			if !ok {
				return unweighed(c)
			}
			return slices.Concat(s.Check(r.setup(c)), unweighed(c))
		},
		Ignored: func(c *Config) []setting.Fault {
			if s, ok := c.Model.Settings.(model.Ignoring); ok {
				return s.Ignored(r.setup(c))
			}
			return nil
		},
	}
	if _, ok := f.Settings().(model.Sweeping); ok {
		sweeping(&kind)
	}
	if _, ok := f.Settings().(model.Choosing); ok {
		choosing(&kind)
	}
	return kind
}

// setup is the context in which the settings of a model are checked.
func (r *Registry) setup(c *Config) model.Setup {
	s := model.Setup{Env: c.Env.Kind, Sequence: c.Sequence(), FilterWindow: c.Eval.FilterWindow}
	if d, _, err := Data(*c); err == nil { // what is wrong with the environment is told elsewhere
		s.Data, s.Image = d, d.Image
	}
	for _, k := range r.environments {
		s.Unit = s.Unit || k.Name == c.Env.Kind && k.Unit
	}
	return s
}

// unweighed returns the fault of a model that draws nothing whose weights could be asked for. It has to build the
// model, because only the model says so; without eval.importance it builds none.
func unweighed(c *Config) []setting.Fault {
	if c.Eval.Importance == 0 {
		return nil
	}
	d, _, err := Data(*c)
	if err != nil || d.NX == 0 {
		return nil // told elsewhere, or when the data are known
	}
	m, err := NewModel(*c, d)
	if err != nil {
		return nil
	}
	if _, ok := m.(model.Weighing); ok {
		return nil
	}
	return []setting.Fault{setting.Faultf([]string{"eval.importance", "model.kind"}, "leave it out",
		"model.kind=%s draws no latent variables by inference that an importance-weighted bound could weigh", c.Model.Kind)}
}

// choosing adds to a kind the values that its settings choose for an environment.
func choosing(kind *Kind) {
	before := kind.Decides
	kind.Decides = func(c *Config) []Decision {
		var list []Decision
		if before != nil {
			list = before(c)
		}
		s, ok := c.Model.Settings.(model.Choosing)
		if !ok {
			return list
		}
		chosen := s.Choose(c.Env.Kind)
		for _, key := range slices.Sorted(maps.Keys(chosen)) {
			list = append(list, Decision{Key: key, Value: chosen[key]})
		}
		return list
	}
}

// Kinds are the kinds that configurations are read with.
func (r *Registry) Kinds() *Kinds { return r.kinds }

// ErrKind is returned when the chosen kind cannot do what the configuration asks for.
var ErrKind = errors.New("the kind cannot do this")

// Environment builds the environment of a configuration. It returns ErrKind for a kind that is not simulated, and
// the error of the environment for settings that do not fit each other.
func Environment(c Config) (envs.Env, error) {
	s, ok := c.Env.Settings.(envs.Settings)
	if !ok {
		return nil, fmt.Errorf("build the environment: %w: env.kind=%s has no settings", ErrKind, c.Env.Kind)
	}
	env, err := s.New()
	if err != nil {
		return nil, fmt.Errorf("build the environment: %w", err)
	}
	return env, nil
}

// NewModel builds the model of a configuration for data of these dimensions, with its initial parameters, which are
// a function of the seed, the settings and d. It returns ErrKind if the kind has no models.
func NewModel(c Config, d model.Data) (model.Model, error) {
	s, ok := c.Model.Settings.(model.Settings)
	if !ok {
		return nil, fmt.Errorf("build the model: %w: model.kind=%s has no settings", ErrKind, c.Model.Kind)
	}
	m, err := s.New(d, rng.New(c.Seed, rng.Init))
	if err != nil {
		return nil, fmt.Errorf("build the model: %w", err)
	}
	return m, nil
}

// Describe describes what the settings of the model choose; it is empty if the kind has none.
func Describe(c Config) model.Description {
	s, ok := c.Model.Settings.(model.Settings)
	if !ok {
		return model.Description{}
	}
	return s.Describe()
}

// Data returns what a model has to know of a configuration's data, and the environment that simulates them; the
// environment is nil for recorded data.
func Data(c Config) (model.Data, envs.Env, error) {
	if s, ok := c.Env.Settings.(*files.Settings); ok {
		return model.Data{NX: s.Observations, NU: s.Controls, Horizon: c.Train.Horizon}, nil, nil
	}
	env, err := Environment(c)
	if err != nil {
		return model.Data{}, nil, err
	}
	spec := env.Spec()
	d := model.Data{NX: spec.Observation, NU: spec.Control, Horizon: c.Train.Horizon}
	// Observations that are pixels of a picture have its shape.
	if e, ok := env.(envs.Pictured); ok {
		d.Image = e.Image()
	}
	return d, env, nil
}

// Trainable returns the model as one that is trained by gradient, or ErrKind.
func Trainable(c Config, m model.Model) (model.Trainable, error) {
	t, ok := m.(model.Trainable)
	if !ok {
		return nil, fmt.Errorf("%w: model.kind=%s is not trained by gradient", ErrKind, c.Model.Kind)
	}
	return t, nil
}
