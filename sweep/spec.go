package sweep

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Method chooses configurations.
type Method string

// The methods.
const (
	Grid   Method = "grid"   // every combination of values, in the order of the parameters
	Random Method = "random" // independent draws
	Sobol  Method = "sobol"  // points of a shifted Sobol sequence
	TPE    Method = "tpe"    // tree-structured Parzen estimators, multivariate
	List   Method = "list"   // the configurations that are written down, in their order
)

// Goal is the direction in which a metric gets better.
type Goal string

// The goals.
const (
	Minimize Goal = "minimize"
	Maximize Goal = "maximize"
)

// Metric is an objective. Several of them make a search for the Pareto front.
type Metric struct {
	Name string `json:"name" yaml:"name"`
	Goal Goal   `json:"goal" yaml:"goal" values:"minimize maximize"`
}

// Aggregate makes one value of those of the replicates of a trial.
type Aggregate string

// The aggregates.
const (
	Mean   Aggregate = "mean"   // arithmetic
	Median Aggregate = "median" // of an even number, the mean of the middle two
	Worst  Aggregate = "worst"  // the greatest of what is minimised, the smallest of what is maximised
)

// Replicates are runs of the same trial that differ in the value of one key, the seed. A trial is worth the
// aggregate of their metrics, and goes on or ends as a whole.
type Replicates struct {
	Key       string    `json:"key"`   // with which the seed is set in a configuration
	Seeds     []uint64  `json:"seeds"` // at least one
	Aggregate Aggregate `json:"aggregate" yaml:"aggregate" values:"mean median worst"`
}

// StopType says how trials are stopped early.
type StopType string

// The types. ASHA and MedianStop judge a trial when it arrives at a rung, by the trials that were there before it: what
// they decide depends on timing.
const (
	NoStop     StopType = "none"      // every trial trains to its end
	Halving    StopType = "halving"   // successive halving in cohorts
	Hyperband  StopType = "hyperband" // cohorts of different size and first rung, in turn
	ASHA       StopType = "asha"      // asynchronous halving: the best of eta go on
	MedianStop StopType = "median"    // those that are no worse than the median go on
)

// StopTypes lists the types.
func StopTypes() []StopType { return []StopType{Halving, Hyperband, ASHA, MedianStop, NoStop} }

// Timed reports whether decisions depend on the order in which results arrive.
func (t StopType) Timed() bool { return t == ASHA || t == MedianStop }

// Stop describes early stopping. Rungs are counted in updates of the base configuration. A trial that makes another
// number of updates in all is judged at the same shares of its own.
type Stop struct {
	Type StopType `json:"type" yaml:"type" values:"halving none hyperband asha median"`
	// Rungs ascend; the last is the whole training.
	Rungs []uint64 `json:"rungs" yaml:"rungs" want:"[1,1000000000]"`
	// Eta: one of eta trials goes on; of Halving, Hyperband and ASHA.
	Eta int `json:"eta" yaml:"eta" same:"reduction_factor" also:"factor" want:"[2,1000000000]"`
	// Cohort is the number of trials of a cohort. Hyperband has its own sizes.
	Cohort int `json:"cohort" yaml:"cohort" want:"[1,1000000000]"`
	// Grace is the number of trials that must have been at a rung before MedianStop stops one there.
	Grace int `json:"grace,omitempty" yaml:"min_trials" want:"[1,1000000000]"`
}

// Confirm runs the best trials again with fresh seeds when all others are done: the best of many is better than
// it will be again (the winner's curse). What is then reported as the best is the best of these.
type Confirm struct {
	Top   int `json:"top" yaml:"top" want:"[1,1000000000]"`     // trials; 0: none
	Seeds int `json:"seeds" yaml:"seeds" want:"[1,1000000000]"` // runs of each
}

// Spec is what a sweep means. Two sweeps with equal specs try the same trials, unless stopping is timed. It is
// kept in the first record of the journal and does not change, but for Trials. Tags other than json, here and in its
// parts, describe the keys of a sweep file, as package trials reads it.
type Spec struct {
	Base string `json:"base"` // identity of the configuration on which the settings are put
	// Method is how trials are chosen.
	Method Method `json:"method" yaml:"method" values:"tpe random grid sobol list" also:"sampler algorithm search_alg strategy"`
	// Seed is that of the method; those of the runs are in Replicates.
	Seed       uint64      `json:"seed" yaml:"seed" want:"[0,1000000000000000]"`
	Metrics    []Metric    `json:"metrics"`
	Parameters []Parameter `json:"parameters"` // of List: the keys of the configurations, with all their values
	List       []Settings  `json:"list,omitempty"`
	Replicates Replicates  `json:"replicates"`
	Stop       Stop        `json:"stop"`
	Confirm    Confirm     `json:"confirm"`
	// Trials are the most that are tried; those of Confirm do not count.
	Trials int `json:"trials" yaml:"run_cap" want:"[1,1000000000]" also:"n_trials trials num_samples max_trials budget count"`
	// SkipInvalid leaves out combinations of a grid that are no valid configuration; otherwise they are an error. The
	// other methods draw again.
	SkipInvalid bool `json:"skip_invalid,omitempty"`
}

// ErrSpec is returned for a spec that cannot be searched.
var ErrSpec = errors.New("sweep: invalid spec")

// Fault is one thing that is wrong with a spec.
type Fault struct {
	Path    string // of the key in a sweep file, e.g. parameters.optim.rate
	Message string
	Hint    string // what to do; may be empty
}

// Faults returns everything that is wrong with a spec; nothing if it can be searched. Whether configurations are
// valid it does not know: that is up to the Runner.
func (s *Spec) Faults() []Fault {
	var list []Fault
	check := func(ok bool, path, hint, format string, args ...any) {
		if !ok {
			list = append(list, Fault{path, fmt.Sprintf(format, args...), hint})
		}
	}
	check(slices.Contains([]Method{Grid, Random, Sobol, TPE, List}, s.Method), "method",
		"must be grid, random, sobol, tpe or list",
		"%q is no method", s.Method)
	check(s.Method == List || len(s.Parameters) > 0, "parameters", "",
		"nothing to search: there is no parameter with more than one value")
	check(s.Method != List || len(s.List) > 0, "configurations", "e.g. configurations: [{model.kind: arhmm}]",
		"nothing to try: there is no configuration")
	check(len(s.Metrics) > 0, "metric", "", "nothing to optimise: there is no metric")
	check(s.Trials > 0, "run_cap", "", "%d trials: at least one is needed", s.Trials)
	check(len(s.Replicates.Seeds) > 0, "parameters."+s.Replicates.Key, "", "no seed")
	check(s.Confirm.Top >= 0 && s.Confirm.Seeds >= 0, "confirm", "", "%d trials with %d seeds: neither is negative",
		s.Confirm.Top, s.Confirm.Seeds)
	check(s.Confirm.Top == 0 || s.Confirm.Seeds > 0, "confirm.seeds", "e.g. seeds: 5",
		"the best trials are to run again with no seed")
	check(s.Method != Sobol || len(s.Parameters) <= maxSobol, "method", "use random or tpe",
		"a Sobol sequence has at most %d dimensions, there are %d parameters", maxSobol, len(s.Parameters))
	s.stopFaults(check)
	seen := map[string]*Parameter{}
	for i := range s.Parameters {
		p := &s.Parameters[i]
		path := "parameters." + p.Key
		if seen[p.Key] != nil {
			check(false, path, "keep one", "it is searched twice")
		}
		list = append(list, p.faults(path, s.Method, seen)...)
		seen[p.Key] = p
	}
	return list
}

// stopFaults is the part of Faults about early stopping.
func (s *Spec) stopFaults(check func(ok bool, path, hint, format string, args ...any)) {
	t := s.Stop
	check(slices.Contains(StopTypes(), t.Type), "early_terminate.type", "must be none, halving, hyperband, asha or median",
		"%q is no type", t.Type)
	check(len(t.Rungs) > 0, "early_terminate", "", "there are no rungs")
	for i := 1; i < len(t.Rungs); i++ {
		check(t.Rungs[i] > t.Rungs[i-1], "early_terminate.rungs", "", "rungs ascend: %d comes after %d", t.Rungs[i],
			t.Rungs[i-1])
	}
	check(len(t.Rungs) == 0 || t.Rungs[0] > 0, "early_terminate.rungs", "", "a rung at update 0 says nothing")
	check(t.Cohort > 0, "early_terminate.cohort", "", "a cohort has at least one trial")
	check(t.Type == NoStop || t.Type == MedianStop || t.Eta >= 2, "early_terminate.eta", "e.g. 3: one of three continues",
		"eta is %d, less than 2", t.Eta)
	check(len(s.Metrics) < 2 || t.Type != MedianStop, "early_terminate.type", "use halving or asha",
		"the median of several metrics is not defined")
}

// Difference is a part of two specs that differs. Old or New is empty where the part is missing.
type Difference struct{ Path, Old, New string }

// Differences lists what two specs mean differently, part by part: first the parts of old that new has otherwise
// or not at all, then those that only new has. The number of trials counts, too. Nothing is listed for equal
// specs.
func Differences(old, new *Spec) []Difference {
	a, b := old.lines(), new.lines()
	var list []Difference
	for _, l := range a {
		if i := slices.IndexFunc(b, func(o [2]string) bool { return o[0] == l[0] }); i < 0 {
			list = append(list, Difference{l[0], l[1], ""})
		} else if b[i][1] != l[1] {
			list = append(list, Difference{l[0], l[1], b[i][1]})
		}
	}
	for _, l := range b {
		if !slices.ContainsFunc(a, func(o [2]string) bool { return o[0] == l[0] }) {
			list = append(list, Difference{l[0], "", l[1]})
		}
	}
	return list
}

// lines describe the spec, one part each, with its path.
func (s *Spec) lines() [][2]string {
	list := [][2]string{
		{"configuration", s.Base},
		{"method", string(s.Method)},
		{"seed", fmt.Sprint(s.Seed)},
		{"run_cap", fmt.Sprint(s.Trials)},
	}
	for i, m := range s.Metrics {
		list = append(list, [2]string{fmt.Sprintf("metric %d", i+1), fmt.Sprintf("%s %s", m.Goal, m.Name)})
	}
	for i := range s.Parameters {
		list = append(list, [2]string{
			"parameters." + s.Parameters[i].Key,
			fmt.Sprintf("%d. %s", i+1, s.Parameters[i].String()),
		})
	}
	for i, c := range s.List {
		list = append(list, [2]string{fmt.Sprintf("configuration %d", i+1), strings.Join(c.Arguments(), " ")})
	}
	r, t := s.Replicates, s.Stop
	seeds := strings.Trim(fmt.Sprint(r.Seeds), "[]")
	return append(list,
		[2]string{"parameters." + r.Key, fmt.Sprintf("seeds %s, %s", seeds, r.Aggregate)},
		[2]string{"early_terminate", fmt.Sprintf("%s at %v, eta %d, cohorts of %d, grace %d", t.Type, t.Rungs, t.Eta,
			t.Cohort, t.Grace)},
		[2]string{"confirm", fmt.Sprintf("%d trials with %d seeds", s.Confirm.Top, s.Confirm.Seeds)},
		[2]string{"invalid", fmt.Sprintf("skip %t", s.SkipInvalid)},
	)
}
