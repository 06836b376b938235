package paper

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/eval"
)

// A plan has groups, the rows and lines of the report, and trials, the runs behind them. Groups with the same
// configuration share runs, and runs are named by the first group that needs them, chosen or not.

// Size says how large models are and how long they are trained. It chooses presets and the settings on top of
// them, see Group.at.
type Size string

// The sizes.
const (
	Smoke    Size = "smoke"    // minutes in all: everything is written, nothing is learned
	Quick    Size = "quick"    // hours on two cores
	Standard Size = "standard" // 20 hours on two cores: what decides a claim that few updates leave open
	Faithful Size = "faithful" // the paper's sizes and schedules: weeks on two cores
)

// Sizes lists the sizes.
func Sizes() []Size { return []Size{Smoke, Quick, Standard, Faithful} }

// preset is the preset of an environment at a size: that of the size, or the one without a suffix. Standard trains the
// models of Quick for longer.
func (s Size) preset(environment string) string {
	if s == Standard {
		s = Quick
	}
	name := environment + "/" + string(s)
	if slices.ContainsFunc(config.Presets(), func(p config.Preset) bool { return p.Name == name }) {
		return name
	}
	return environment
}

// Part is a table or a figure of the paper, with the models that it compares. Groups, tables, figures and claims
// belong to one part each.
type Part string

// The parts.
const (
	Table1   Part = "table1"   // prediction of maze and reacher, and what states and switches hold
	Ablation Part = "ablation" // kinds of switches and weights
	FHN      Part = "fhn"      // the oscillator
	Ball     Part = "ball"     // prediction of images
	DT       Part = "dt"       // duration of a step
)

// Parts lists the parts.
func Parts() []Part { return []Part{Table1, Ablation, FHN, Ball, DT} }

// Choice chooses what a plan has: PART, PART/ENVIRONMENT or PART/ENVIRONMENT/MODEL, e.g. table1/reacher/normal.
type Choice string

// takes reports whether a group is chosen: the words of a choice are whole.
func (c Choice) takes(g *Group) bool {
	return strings.HasPrefix(string(g.Part)+"/"+g.Environment+"/"+g.Key+"/", string(c)+"/")
}

// Exists reports whether there is anything to choose.
func (c Choice) Exists() bool { return slices.ContainsFunc(groups(), c.takes) }

// Group is a model on an environment, trained with several seeds. Settings are arguments KEY=VALUE on top of the
// preset of its environment.
type Group struct {
	Part        Part
	Environment string
	Key, Label  string // of the model: in names of runs, and for people
	Settings    []string
	Protocols   []string
	X           float64 // of a curve over groups: the duration of a step

	trials []int // in the plan, one for each seed
}

// Name begins the names of the runs.
func (g *Group) Name() string { return g.Environment + "-" + g.Key }

// Plan is what is trained and measured. A plan is not changed after NewPlan. Trials[i] is a run that one or more
// groups share.
type Plan struct {
	Size   Size
	Seeds  int
	Groups []*Group
	Trials []Trial

	// The trial of a configuration, by its keys that have an effect: what NewPlan shares runs by.
	byConfig map[string]int // the trial of a configuration, named by its keys with an effect
}

// NewPlan resolves the configurations of what is chosen at a size, for seeds 1 to seeds; without choices, of all parts.
// Groups with the same configuration share their runs, whose names are those of the first among all groups: what is
// chosen does not change them, so that runs of another choice are found again. The error is that of a setting that
// does not resolve.
func NewPlan(kinds *config.Kinds, size Size, seeds int, choices []Choice) (*Plan, error) {
	p := &Plan{Size: size, Seeds: seeds, byConfig: map[string]int{}}
	names := map[string]string{} // of the run of a configuration
	for _, g := range groups() {
		chosen := len(choices) == 0 || slices.ContainsFunc(choices, func(c Choice) bool { return c.takes(g) })
		for seed := 1; seed <= seeds; seed++ {
			// Later settings have precedence: the size decides over the group.
			settings := append(slices.Clone(g.Settings), "seed="+strconv.Itoa(seed))
			settings = append(settings, g.at(size)...)
			r, err := kinds.Resolve(config.Sources{Preset: size.preset(g.Environment), Arguments: settings})
			if err != nil {
				return nil, fmt.Errorf("plan %s: %w", g.Name(), err)
			}
			// Settings that have no effect do not tell runs apart.
			key := string(r.Config.Effective())
			if names[key] == "" {
				names[key] = fmt.Sprintf("%s-%d", g.Name(), seed)
			}
			if chosen {
				p.add(g, key, names[key], r.Config, settings)
			}
		}
		if chosen {
			p.Groups = append(p.Groups, g)
		}
	}
	return p, nil
}

// at are the settings of a group that a size has beside its preset: at Smoke chains that last seconds, at Quick short
// trainings where a part has very many runs and of KVAE without images, which has no row in the paper and gets no
// better by more (docs/results/models.md), and for KVAE on images the schedule of its authors, at Quick compressed to a
// quarter of the updates (docs/results/kvae.md). At Standard whatever Quick trains on vectors has four times its batch
// and 60,000 updates, a limit and an average without which so many become unstable, and a warm-up of the divergence
// where states need one: on the arm for some seeds, and at short durations of a step, with a skip and with less noise
// at the least (docs/results/reacher.md and maze.md).
func (g *Group) at(size Size) []string {
	vectors := g.Part == Table1 || g.Part == Ablation || g.Part == DT
	ours := slices.ContainsFunc(g.Settings, func(s string) bool { return strings.HasPrefix(s, "model.switching=") })
	switch chains := g.Key == "rslds" || g.Key == "trslds"; {
	case chains && size == Smoke:
		return []string{"model.sweeps=8", "model.burn_in=4", "model.exchange=4", "model.chains=2", "model.draws=4"}
	case size == Quick && g.Part == DT:
		return []string{"train.steps=5000"}
	case size == Quick && g.Part == Table1 && g.Key == "kvae":
		return []string{"train.steps=10000"}
	case size == Standard && vectors && g.Key == "kvae":
		return []string{"train.batch=64", "train.steps=20000"}
	case size == Standard && vectors && g.Key != "static":
		list := []string{
			"train.batch=64", "train.steps=60000", "optim.clip_size=1", "optim.outlier=10", "optim.average=0.998",
		}
		switch {
		case g.Part == DT:
			list = append(list, "model.skip=true", "model.variance_floor=1e-8", "anneal.kl_start=0.01",
				"anneal.kl_until=0.5")
		case g.Environment == "reacher" && ours:
			list = append(list, "anneal.kl_start=0.1", "anneal.kl_until=0.3")
		}
		return list
	case g.Part == Ball && g.Key == "kvae" && (size == Quick || size == Standard):
		return append(kvaeSchedule(), "train.steps=3140", "optim.decay_every=785", "anneal.mixing_from=393")
	case g.Part == Ball && g.Key == "kvae" && size == Faithful:
		return append(kvaeSchedule(), "train.steps=12500", "optim.decay_every=3125", "anneal.mixing_from=1570")
	}
	return nil
}

// kvaeSchedule is how the authors of KVAE train it on the ball (Fraccaro et al. 2017, their code), but for the lengths.
func kvaeSchedule() []string {
	return []string{
		"model.latent=4", "model.switches=3", "train.batch=32", "train.shards=2",
		"optim.schedule=exponential", "optim.rate=7e-3", "optim.decay=0.85", "optim.warmup=0", "optim.clip=150",
		"optim.clip_factor=0",
	}
}

// add adds a seed of a group, as a run of its own if there is none of that configuration. A run that groups share
// is measured by the protocols of all of them.
func (p *Plan) add(g *Group, key, name string, c config.Config, settings []string) {
	if i, known := p.byConfig[key]; known {
		t := &p.Trials[i]
		for _, name := range g.Protocols {
			if !slices.Contains(t.Protocols, name) {
				t.Protocols = append(t.Protocols, name)
			}
		}
		g.trials = append(g.trials, i)
		return
	}
	p.byConfig[key] = len(p.Trials)
	g.trials = append(g.trials, len(p.Trials))
	p.Trials = append(p.Trials, Trial{
		Name: name, Config: c, Overrides: settings, Protocols: slices.Clone(g.Protocols),
	})
}

// groups lists the models of all parts, in the order of the report. Each call makes them anew: a plan fills in
// their trials.
func groups() []*Group {
	var list []*Group
	for _, env := range []string{"maze", "reacher"} {
		list = append(list, table1Groups(env)...)
	}
	for _, env := range []string{"maze", "reacher"} {
		list = append(list, ablationGroups(env)...)
	}
	list = append(
		list,
		&Group{
			Part: FHN, Environment: "fhn", Key: "concrete", Label: "Ours (Concrete)",
			Settings: []string{"model.switching=concrete"}, Protocols: []string{"fhn"},
		},
		&Group{
			Part: FHN, Environment: "fhn", Key: "normal", Label: "Ours (Normal)",
			Settings: []string{"model.switching=normal"}, Protocols: []string{"fhn"},
		},
		&Group{
			Part: FHN, Environment: "fhn", Key: "trslds", Label: "TrSLDS", Settings: []string{"model.kind=trslds"},
			Protocols: []string{"fhn"},
		},
		&Group{
			Part: FHN, Environment: "fhn", Key: "rslds", Label: "rSLDS", Settings: []string{"model.kind=rslds"},
			Protocols: []string{"fhn"},
		},
		&Group{
			Part: Ball, Environment: "ball", Key: "normal", Label: "Ours (Normal)",
			Settings: []string{"model.switching=normal"}, Protocols: []string{"pixels"},
		},
		&Group{
			Part: Ball, Environment: "ball", Key: "concrete", Label: "Ours (Concrete)",
			Settings: []string{"model.switching=concrete"}, Protocols: []string{"pixels"},
		},
		&Group{
			Part: Ball, Environment: "ball", Key: "deterministic", Label: "Ours (deterministic)",
			Settings: []string{"model.switching=deterministic"}, Protocols: []string{"pixels"},
		},
		&Group{
			Part: Ball, Environment: "ball", Key: "kvae", Label: "KVAE", Settings: []string{"model.kind=kvae"},
			Protocols: []string{"pixels"},
		},
	)
	return append(list, dtGroups()...)
}

// table1Groups are the rows of table 1, the two families that it leaves out, what the paper hopes for in its
// conclusion, a discrete switch, and in the maze a switch for each agent, and on the arm models with more systems.
func table1Groups(env string) []*Group {
	row := func(key, label string, protocols []string, settings ...string) *Group {
		if key != "normal" && key != "linear" {
			settings = append(settings, usualEpsilon(env)...)
		}
		return &Group{
			Part: Table1, Environment: env, Key: key, Label: label, Settings: settings,
			Protocols: append([]string{"table1"}, protocols...),
		}
	}
	// Protocols that look into states and switches, and draw what they see.
	ours := []string{"velocity", "contact", "switches", "latent", "trajectories"}
	list := []*Group{
		row("normal", "Ours (Normal)", ours, "model.switching=normal"),
		row("concrete", "Ours (Concrete)", ours, "model.switching=concrete"),
		row("deterministic", "Ours (deterministic)", ours, "model.switching=deterministic"),
		row("categorical", "Ours (categorical, summed out)", ours, "model.switching=categorical"),
		row("fusion", "DVBF Fusion", []string{"velocity", "contact", "switches"}, "model.kind=fusion"),
		row("dvbf", "DVBF", []string{"velocity", "contact", "switches"}, "model.kind=dvbf"),
		row("kvae", "KVAE", nil, "model.kind=kvae"),
		row("lstm", "LSTM", nil, "model.kind=lstm"),
		row("linear", "Linear", nil, "model.kind=linear"),
		row("static", "Static", nil, "model.kind=static"),
	}
	if env == "maze" {
		return slices.Insert(list, 4, row("bodies", "Ours (deterministic, a switch for each agent)", ours,
			"model.switching=deterministic", "model.bodies=3"))
	}
	return append(list, manySystems(list)...)
}

// usualEpsilon is Adam's ε of all models but ours with a Normal switch. The presets of the reacher have the one that
// this switch needs, which hurts Concrete (docs/results/reacher.md).
func usualEpsilon(env string) []string {
	if env == "reacher" {
		return []string{"optim.epsilon=1e-8"}
	}
	return nil
}

// many ends the keys of models with more base systems than their preset has.
const many = "-32"

// manySystems are further rows of the arm: the models that gain by more base systems than the 8 of all others. The
// paper does not say how many it used. With a Normal switch the arm fails with so many, and the maze gains nothing by
// them. A Concrete switch over so many needs a limit on the size of a gradient: without it a third of the seeds lose
// the switch once the temperatures are low (docs/results/reacher.md).
func manySystems(rows []*Group) []*Group {
	var list []*Group
	for _, g := range rows {
		settings := append(slices.Clone(g.Settings), "model.switches=32")
		switch g.Key {
		case "concrete":
			settings = append(settings, "optim.clip_size=1")
		case "deterministic", "fusion":
		default:
			continue
		}
		list = append(list, &Group{
			Part: g.Part, Environment: g.Environment, Key: g.Key + many, Label: g.Label + ", 32 systems",
			Settings: settings, Protocols: g.Protocols,
		})
	}
	return list
}

// ablationGroups vary the switch and the weights of ours.
func ablationGroups(env string) []*Group {
	var list []*Group
	for _, s := range []struct{ key, label string }{
		{"normal", "Normal"},
		{"concrete", "Concrete"},
		{"deterministic", "deterministic"},
		{"categorical", "categorical"},
	} {
		for _, weights := range []string{"softmax", "sigmoid", "limited"} {
			if s.key == "categorical" && weights != "softmax" {
				continue // its weights are probabilities
			}
			settings := []string{"model.switching=" + s.key, "model.weights=" + weights}
			if s.key != "normal" {
				settings = append(settings, usualEpsilon(env)...)
			}
			list = append(list, &Group{
				Part: Ablation, Environment: env, Key: s.key + "-" + weights, Label: s.label + ", " + weights,
				Settings: settings, Protocols: []string{"table1", "switches"},
			})
		}
	}
	return list
}

// dtGroups are one agent in the maze at several durations of a step. X is the duration in seconds.
func dtGroups() []*Group {
	var list []*Group
	for _, s := range []struct{ key, label, switching, weights string }{
		{"normal", "Normal", "normal", "softmax"},
		{"concrete", "Concrete, softmax", "concrete", "softmax"},
		{"binary", "Concrete, sigmoid", "concrete", "sigmoid"},
	} {
		for _, dt := range eval.DTPaperSteps() {
			text := strconv.FormatFloat(dt, 'g', -1, 64)
			list = append(list, &Group{
				Part: DT, Environment: "maze", Key: dtKey(s.key, dt), Label: s.label, X: dt,
				Settings: []string{
					"env.balls=1", "env.dt=" + text, "model.switching=" + s.switching,
					"model.weights=" + s.weights,
				},
				Protocols: []string{"dt"},
			})
		}
	}
	return list
}

// dtKey names a model at a duration of a step. dt is in seconds, the name in milliseconds.
func dtKey(key string, dt float64) string { return fmt.Sprintf("one-%s-%gms", key, 1000*dt) }
