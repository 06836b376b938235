package eval

import (
	"errors"
	"fmt"
	"slices"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/model"
)

// Protocol is one way to measure a trained model. Each is made by a function of its own and listed in Protocols.
type Protocol struct {
	Name string
	Doc  string // what is measured, in one line
	// Kinds as env.kind has them, and what a question may ask of the protocol beside its horizon.
	Usual     []string // kinds of environment that training ends with it
	AllStarts bool     // it can predict from every start in the held-out window, too
	Ends      bool     // it uses the ends of training trajectories, unless fresh ones are asked for
	Prefixed  bool     // the number of steps before a prediction can be chosen
	Labelled  bool     // it compares with true regimes, whose column can be named
	Episodes  int      // of the test, unless another number is asked for; 0: the number cannot be chosen

	// Whether it applies to a kind of environment; env is nil for recordings.
	fits func(kind string, env envs.Env) bool
	// What run reports, without measuring, and the measurement itself.
	metrics func(s Subject) ([]Metric, error)
	run     func(s Subject) (Findings, error)
}

// Subject is what is measured, and what is asked of it.
type Subject struct {
	Forecaster model.Forecaster
	Env        envs.Env    // nil: its data are recordings
	Recordings *Recordings // nil: its data are simulated

	Question // with its horizon
	// With the configuration of the run, so that simulated data are those of training, or fresh ones of the same
	// seed.
	Seed     uint64 // of the run
	Training int    // episodes of training
	Length   int    // steps of each, or of a window
	Samples  int    // latent rollouts whose average is the predictive mean
	Window   int    // steps filtered before a prediction; 0: all

	Fits // of a backtest; nil: it is not bounded
}

// Findings are what a protocol found. Tables are for people and for CSV, the report is for scripts.
type Findings struct {
	Scores  Table // above the table; without rows: there is none
	Table   Table
	Curves  Table // every number, for CSV
	Each    Table // of each recording, for CSV; without rows: there is none
	Report  Report
	Picture any // what eval/figure draws of it, a report of this package; nil: there is no figure
}

// measured is a report, as every protocol makes one. It has numbers alone: pictures are drawn elsewhere.
type measured interface {
	Table() Table
	CurveTable() Table
	Report() Report
}

// findings are the tables of a report, with what there is to draw; nil: nothing.
func findings(r measured, picture any) Findings {
	return Findings{Table: r.Table(), Curves: r.CurveTable(), Report: r.Report(), Picture: picture}
}

// Protocols lists the protocols, those for single environments first.
func Protocols() []Protocol {
	return []Protocol{
		fhnProtocol(), table1Protocol(), segmentationProtocol(), aheadProtocol(),
		velocityProtocol(), contactProtocol(), switchesProtocol(), latentProtocol(),
		trajectoriesProtocol(), pixelsProtocol(), dtProtocol(), recordingsProtocol(), validationProtocol(),
	}
}

// ProtocolsFor lists the protocols that fit an environment, its usual one first. The environment of recordings is
// nil. Among the others, ahead comes first.
func ProtocolsFor(kind string, env envs.Env) []Protocol {
	list := slices.DeleteFunc(Protocols(), func(p Protocol) bool { return !p.fits(kind, env) })
	slices.SortStableFunc(list, func(a, b Protocol) int { return b.rank(kind) - a.rank(kind) })
	return list
}

// rank orders the protocols that fit: the larger comes first.
func (p Protocol) rank(kind string) int {
	switch {
	case p.UsualFor(kind):
		return 2
	case p.Name == "ahead":
		return 1
	}
	return 0
}

// UsualFor reports whether training on this kind of environment ends with the protocol.
func (p Protocol) UsualFor(kind string) bool { return slices.Contains(p.Usual, kind) }

// ErrUntrained is returned by Metrics where a model that is not trained does not say what it can answer.
var ErrUntrained = errors.New("a model that is not trained does not say what it can answer")

// Metrics is what Run will report: names, axes and units. The values mean nothing. The model need not be trained.
// An error names the protocol and wraps ErrUntrained where a model is needed and there is none, or what is wrong
// with the data.
func (p Protocol) Metrics(s Subject) ([]Metric, error) {
	list, err := p.metrics(s)
	if err != nil {
		return nil, fmt.Errorf("metrics of protocol %s: %w", p.Name, err)
	}
	return list, nil
}

// asked are the metrics of a protocol that depend on what a model can answer.
func (s Subject) asked(metrics func(f model.Forecaster) ([]Metric, error)) ([]Metric, error) {
	if s.Forecaster == nil {
		return nil, ErrUntrained
	}
	return metrics(s.Forecaster)
}

// Run measures a model. It blocks until all is computed. An error names the protocol and wraps the reason, as
// ErrOptions or ErrDims.
func (p Protocol) Run(s Subject) (Findings, error) {
	f, err := p.run(s)
	if err != nil {
		return Findings{}, fmt.Errorf("protocol %s: %w", p.Name, err)
	}
	return f, nil
}

// task is what a protocol of an environment is asked, where it is made for the given number of episodes. What the
// question leaves open is filled in: episodes, and DefaultPrefix.
func (s Subject) task(episodes int) Task {
	t := Task{Question: s.Question, Seed: s.Seed, Training: s.Training, Length: s.Length, Samples: s.Samples}
	if t.Episodes == 0 {
		t.Episodes = episodes
	}
	if t.Prefix == 0 {
		t.Prefix = DefaultPrefix
	}
	return t
}

// vectors fits environments whose observations are no images.
func vectors(_ string, env envs.Env) bool {
	_, images := env.(envs.Pictured)
	return env != nil && !images
}
