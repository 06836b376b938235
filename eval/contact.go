package eval

import (
	"fmt"
	"math"
	"slices"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/model"
)

// ContactProbe is how well a classifier tells contacts from the mixing weights of a step: F1 = 2·tp / (positives +
// calls) over all scored steps.
type ContactProbe struct {
	Name, Key string
	F1        []Estimate // for each of ContactReport.Labels
	Mean      Estimate   // over the bodies: the labels before "any"
	Encounter Estimate   // over the bodies: the labels behind it
}

// ContactReport is the result of the protocol Contact. Labels, Share and Chance have the same order: the bodies,
// "any" if there are several, then the meetings of each body with another one.
type ContactReport struct {
	Task           Task
	Environment    string
	Labels         []string  // of bodies, "any" where there are several, and of meetings with another body
	bodies         int       // labels before "any"
	Share          []float64 // of test steps with the label
	Chance         []float64 // F1 of calling every step a contact: 2p/(1+p)
	Probes         []ContactProbe
	Fitted, Scored int // episodes
	Notes          []string
}

// classifiers are those of the paper, for the maze a tree and for the arm a logistic regression, and variants. fit
// gets the weights x [n,m] and the labels y [n] of the fitted steps and returns what calls a row of weights a
// contact or not.
var classifiers = []struct {
	name, key string
	fit       func(x []float64, y []bool, m int) func(x []float64) bool
}{
	{"tree, depth 5", "tree", func(x []float64, y []bool, m int) func([]float64) bool {
		return decide(growTree(x, y, m, 5, 20).probability)
	}},
	{"tree, unlimited", "tree_unlimited", func(x []float64, y []bool, m int) func([]float64) bool {
		return decide(growTree(x, y, m, 0, 1).probability)
	}},
	{"logistic regression", "logistic", func(x []float64, y []bool, m int) func([]float64) bool {
		return decide(fitLogistic(x, y, m).probability)
	}},
	{"logistic, best threshold", "logistic_best", func(x []float64, y []bool, m int) func([]float64) bool {
		l := fitLogistic(x, y, m)
		p := make([]float64, len(y))
		for i := range p {
			p[i] = l.probability(x[i*m : (i+1)*m])
		}
		// The threshold is chosen on the fitted episodes too: the scored ones choose nothing.
		threshold := bestThreshold(p, y)
		return func(x []float64) bool { return l.probability(x) > threshold }
	}},
}

// decide calls a contact what is more likely than not.
func decide(probability func([]float64) float64) func([]float64) bool {
	return func(x []float64) bool { return probability(x) > 0.5 }
}

// contactHoldout of the test episodes score what the others fitted: one of five.
const contactHoldout = 5

// Contact measures what the switch knows of contacts: F1 of classifiers that see the mixing weights of a step and tell
// whether a body met something during it. The posterior is given the whole episode; classifiers are fitted on four
// fifths of the test episodes and scored on the others. It returns ErrOptions or ErrDims, joined, before anything is
// computed.
func Contact(f model.Forecaster, env envs.Env, task Task) (ContactReport, error) {
	spec, probes := env.Spec(), probesOf(env)
	if err := task.validate(f.Dims(), spec); err != nil {
		return ContactReport{}, err
	}
	if task.Episodes < contactHoldout {
		return ContactReport{}, fmt.Errorf("%w: Episodes = %d, want at least %d: one of %d is scored", ErrOptions,
			task.Episodes, contactHoldout, contactHoldout)
	}
	test := task.test(env, task.Length)
	r := ContactReport{Task: task, Environment: spec.Name}
	r.look(&test, spec, probes, task.filter(f, test, noiseOfTest))
	return r, nil
}

// ContactMetrics is what Contact reports, before it is measured. The values mean nothing.
func ContactMetrics(f model.Forecaster, env envs.Env, task Task) []Metric {
	r := ContactReport{Task: task, Environment: env.Spec().Name}
	r.look(&trials{}, env.Spec(), probesOf(env), unfiltered(f))
	return r.Report().Metrics
}

// look enters what a model infers about trials. Every classifier is fitted anew for every label, with the weights
// of one path of draws and with those averaged over filterPaths. Without trials nothing is fitted: the report has
// its names alone.
func (r *ContactReport) look(test *trials, spec envs.Spec, probes envs.Probes, hidden *filtered) {
	r.Scored = test.N / contactHoldout
	r.Fitted = test.N - r.Scored
	var labels [][]bool
	r.bodies = len(probes.Contacts)
	r.Labels, labels = contactLabels(test, spec, probes.Contacts)
	if n := len(probes.Encounters); n > 0 {
		names, met := contactLabels(test, spec, probes.Encounters)
		r.Labels, labels = append(r.Labels, names[:n]...), append(labels, met[:n]...)
	}
	r.chances(labels, test.T)
	if hidden == nil || hidden.M < 2 {
		r.Notes = append(r.Notes, "This family of models has no switch to look at.")
		return
	}
	for _, weights := range []struct {
		name, key string
		x         []float64
	}{{"sample", "", hidden.sample}, {"mean", "mean", hidden.mean}} {
		for _, c := range classifiers {
			hits := newTally(r.Scored, 3*len(labels)) // true positives, positives and calls of each label
			for l, y := range labels {
				if r.Fitted == 0 {
					continue
				}
				classify(hits, l, c.fit, weights.x, y, hidden.M, test.T, r.Fitted)
			}
			r.Probes = append(r.Probes, r.probe(c.name+", "+weights.name, suffixed(c.key, weights.key), hits))
		}
	}
}

// contactLabels names the contacts, and "any" where there are several, and lists at which steps each holds:
// labels[i] is [N,T], row n·T+t, and the last of several is the union of the others.
func contactLabels(d *trials, spec envs.Spec, columns []int) (names []string, labels [][]bool) {
	anyOf := make([]bool, d.N*d.T)
	for _, c := range columns {
		names = append(names, spec.Labels[c])
		holds := make([]bool, d.N*d.T)
		for i := range holds {
			holds[i] = d.labels[i*d.NL+c] == 1
			anyOf[i] = anyOf[i] || holds[i]
		}
		labels = append(labels, holds)
	}
	if len(columns) > 1 {
		names, labels = append(names, "any"), append(labels, anyOf)
	}
	return names, labels
}

// switched appends the steps of trials [from, to) that have a switch: all but the first of each. values are
// [N,T,width]; the result is [(to−from)·(T−1),width], appended to dst.
func switched[T any](dst, values []T, width, steps, from, to int) []T {
	for n := from; n < to; n++ {
		dst = append(dst, values[(n*steps+1)*width:(n+1)*steps*width]...)
	}
	return dst
}

// chances enters the share p of each label among the scored steps, and F1 = 2p/(1+p) of a classifier that calls
// every step a contact: its recall is 1 and its precision p.
func (r *ContactReport) chances(labels [][]bool, steps int) {
	for _, y := range labels {
		scored := switched(nil, y, 1, steps, r.Fitted, r.Fitted+r.Scored)
		p := float64(len(slices.DeleteFunc(slices.Clone(scored), func(b bool) bool { return !b }))) / float64(len(scored))
		r.Share = append(r.Share, p)
		r.Chance = append(r.Chance, 2*p/(1+p))
	}
}

// anyNaN reports whether a weight of the first trials is NaN, which a classifier would take for something. Those of the
// first step of a trial, which no switch led to, do not count.
func anyNaN(x []float64, m, steps, trials int) bool {
	return slices.ContainsFunc(switched(nil, x, m, steps, 0, trials), math.IsNaN)
}

// classify fits a classifier for a label and enters its hits on the scored episodes. x is [N,T,m] and y [N,T]; the
// first fitted episodes are fitted on. In a row of hits a label has three places: true positives, positives and
// calls. They are NaN if a weight is.
func classify(hits *tally, label int, fit func([]float64, []bool, int) func([]float64) bool, x []float64, y []bool, m,
	steps, fitted int,
) {
	if anyNaN(x, m, steps, fitted+hits.n) {
		for n := range hits.n {
			hits.row(n)[3*label+2] = math.NaN() // the calls
		}
		return
	}
	called := fit(switched(nil, x, m, steps, 0, fitted), switched(nil, y, 1, steps, 0, fitted), m)
	for n := range hits.n {
		row := hits.row(n)[3*label:]
		for t := 1; t < steps; t++ {
			i := (fitted+n)*steps + t
			call := called(x[i*m : (i+1)*m])
			if y[i] {
				row[1]++
			}
			if call {
				row[2]++
			}
			if call && y[i] {
				row[0]++
			}
		}
	}
}

// groups are the labels of the bodies and those of their meetings, each as a range [first, end) of Labels; a range
// is empty where there are none.
func (r *ContactReport) groups() (bodies, encounters [2]int) {
	first := r.bodies
	if r.bodies > 1 {
		first++ // "any"
	}
	return [2]int{0, r.bodies}, [2]int{first, len(r.Labels)}
}

// probe makes F1 of the hits: that of each label, and the means over bodies and over meetings, in which every body
// counts the same. Encounter stays zero where bodies do not meet.
func (r *ContactReport) probe(name, key string, hits *tally) ContactProbe {
	p := ContactProbe{Name: name, Key: key}
	// Sums of a label l are true positives, positives and calls: F1 = 2·tp / (positives + calls).
	f1 := func(s []float64, l int) float64 {
		if s[3*l+1]+s[3*l+2] == 0 {
			return 0 // nothing to find and nothing called
		}
		return 2 * s[3*l] / (s[3*l+1] + s[3*l+2])
	}
	for l := range r.Labels {
		p.F1 = append(p.F1, hits.estimate(func(s []float64) float64 { return f1(s, l) }))
	}
	mean := func(of [2]int) Estimate {
		return hits.estimate(func(s []float64) float64 {
			sum := 0.0
			for l := of[0]; l < of[1]; l++ {
				sum += f1(s, l)
			}
			return sum / float64(of[1]-of[0])
		})
	}
	bodies, encounters := r.groups()
	p.Mean = mean(bodies)
	if encounters[1] > encounters[0] {
		p.Encounter = mean(encounters)
	}
	return p
}
