package trials

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/internal/setting"
	"github.com/switchyard-ml/switchyard/sweep"
)

// parameters reads the section parameters; prefix is that of a nested section, with its dot. Sections may be
// nested, as in W&B, or dotted.
func (f *File) parameters(p config.Pair, prefix string) {
	if p.Value.Kind != config.NodeMapping {
		f.fault(p.At, strings.TrimSuffix("parameters."+prefix, "."), "expected keys, found "+p.Value.Describe(),
			"e.g. optim.rate: {values: [1e-3, 1e-2]}")
		return
	}
	for _, q := range p.Value.Pairs {
		key := prefix + q.Key
		f.origins["parameters."+key] = q.At
		if nested := q.Value.Pair("parameters"); nested != nil {
			f.parameters(*nested, key+".")
			continue
		}
		f.parameter(q, key)
	}
}

// add adds a parameter that is searched. The seed makes replicates, and a choice of one value is fixed, on top of the
// base, unless it has a condition: then it is not in every configuration.
func (f *File) add(p sweep.Parameter, n config.Node) {
	if p.Key == "seed" && p.Distribution == sweep.Categorical && p.When == nil {
		if p.Weights != nil || len(p.Values) == 0 {
			f.fault(n.Origin, "parameters.seed", "seeds are listed, at least one, without probabilities: each trial is run "+
				"with all of them", "e.g. seed: [1, 2, 3]")
			return
		}
		f.seeds(p.Values, n)
		return
	}
	if p.Key == "seed" {
		f.fault(n.Origin, "parameters.seed", "seeds are listed: each trial is run with all of them",
			"e.g. seed: {values: [1, 2, 3], aggregate: mean}")
		return
	}
	if p.Distribution == sweep.Categorical && len(p.Values) == 1 && p.When == nil {
		f.Fixed = append(f.Fixed, sweep.Setting{Key: p.Key, Value: p.Values[0]})
		return
	}
	f.Spec.Parameters = append(f.Spec.Parameters, p)
}

// seeds sets the seeds of the replicates. They have 63 bits, and each occurs once.
func (f *File) seeds(values []string, n config.Node) {
	f.Spec.Replicates.Seeds = nil
	for _, v := range values {
		seed, err := strconv.ParseUint(v, 10, 63)
		if err != nil || slices.Contains(f.Spec.Replicates.Seeds, seed) {
			f.fault(n.Origin, "parameters.seed", fmt.Sprintf("%q is no seed, or listed twice", v),
				"seeds are whole numbers, each once")
			continue
		}
		f.Spec.Replicates.Seeds = append(f.Spec.Replicates.Seeds, seed)
	}
}

// description is a parameter that is being read.
type description struct {
	f    *File
	path string
	at   config.Pair // of the parameter, a section
	p    sweep.Parameter
	keys struct {
		Value      *config.Pair `yaml:"value"`
		Parameters *config.Pair `yaml:"parameters"`
		When       *config.Pair `yaml:"when" also:"if condition conditions"`
	}
}

// said is a key of the parameter; nil if it is left out.
func (d *description) said(key string) *config.Pair { return d.at.Value.Pair(key) }

// parameter reads one parameter: value, values, or a range. A value alone is fixed, a list alone is a choice. One with
// a fault of its own is not searched, which would only lead to more messages.
func (f *File) parameter(p config.Pair, key string) {
	d := description{f: f, path: "parameters." + key, at: p, p: sweep.Parameter{Key: key}}
	switch p.Value.Kind {
	case config.NodeValue, config.NodeNothing:
		d.at = alone("value", p)
	case config.NodeList:
		d.at = alone("values", p)
	}
	faults := len(f.problems)
	f.section(d.at, d.path, "", &d.keys, &d.p, &f.Spec.Replicates)
	if q := d.said("aggregate"); q != nil && key != "seed" {
		f.fault(q.At, d.path+".aggregate", "only the runs of different seeds are put together", "leave it out")
	}
	if d.keys.When != nil {
		d.when(*d.keys.When)
	}
	switch {
	case d.keys.Value != nil:
		d.constant()
	case d.said("values") != nil:
		d.choice()
	case d.said("distribution") != nil || d.said("min") != nil || d.said("max") != nil:
		d.numeric()
	default:
		f.fault(p.At, d.path, "it has no values", "e.g. {values: [1, 2]}, or {min: 1, max: 10}")
	}
	if len(f.problems) == faults {
		f.add(d.p, d.at.Value)
	}
}

// constant completes a parameter with one value, a choice of one.
func (d *description) constant() {
	n := d.keys.Value.Value
	if n.Kind != config.NodeValue {
		d.f.fault(n.Origin, d.path+".value", "expected one value, found "+n.Describe(), "values takes a list")
	}
	d.p.Distribution, d.p.Values = sweep.Categorical, []string{n.Text}
}

// choice completes a list of values, with or without probabilities.
func (d *description) choice() {
	if q := d.said("distribution"); q != nil && q.Value.Text != string(sweep.Categorical) {
		d.f.fault(q.Value.Origin, d.path+".distribution", "values have the distribution categorical",
			"leave it out, or give min and max")
	}
	d.p.Distribution = sweep.Categorical
}

// elsewhere are the distributions of W&B that are not here, with what to write.
var elsewhere = map[string]string{
	"constant": "value takes one value", "beta": "use uniform, or values", "q_beta": "use q_uniform, or values",
	"log_uniform":     "write log_uniform_values: min and max are then the values themselves, not their logarithms",
	"q_log_uniform":   "write q_log_uniform_values: min and max are then the values themselves, not their logarithms",
	"inv_log_uniform": "write log_uniform_values", "loguniform": "write log_uniform_values",
	"log": "write log_uniform_values",
	"int": "write int_uniform", "float": "write uniform", "choice": "write values: [...]", "randint": "write int_uniform",
}

// numeric completes a range or a normal law. Without a distribution it is uniform: of integers if both ends are
// written as such.
func (d *description) numeric() {
	f, path := d.f, d.path+".distribution"
	q := d.said("distribution")
	if q == nil {
		d.p.Distribution = sweep.Uniform
		if d.whole("min") && d.whole("max") {
			d.p.Distribution = sweep.IntUniform
		}
	} else if hint, ok := elsewhere[q.Value.Text]; ok { // a name of W&B gets the name that is here
		f.fault(q.Value.Origin, path, q.Value.Text+" is not here", hint)
		return
	} else if !slices.Contains(sweep.Distributions(), d.p.Distribution) {
		if q.Value.Kind == config.NodeValue {
			var known []string
			for _, o := range sweep.Distributions() {
				known = append(known, string(o))
			}
			f.known(q.Value.Origin, path, q.Value.Text, known, "must be ")
		}
		return
	}
	d.ends()
}

// ends checks that the ends of the range, or mean and deviation, are there, and nothing else. A standard
// deviation that is left out is 1, and so is q.
func (d *description) ends() {
	name, need, takes := string(d.p.Distribution), "min and max", []string{"min", "max"}
	switch {
	case d.p.Distribution == sweep.Categorical:
		need, takes = "values", []string{"values", "probabilities"}
	case strings.HasSuffix(name, "normal"):
		need, takes = "", []string{"mu", "sigma"}
		if d.said("sigma") == nil {
			d.p.Sigma = 1
		}
	}
	if strings.HasPrefix(name, "q_") {
		takes = append(takes, "q")
		if d.said("q") == nil {
			d.p.Q = 1
		}
	}
	for _, key := range []string{"min", "max", "mu", "sigma", "values", "probabilities", "q"} {
		q := d.said(key)
		if q == nil && strings.Contains(need, key) {
			d.f.fault(d.at.At, d.path+"."+key, "missing: "+name+" has "+need, "")
		}
		if q != nil && !slices.Contains(takes, key) {
			d.f.fault(q.At, d.path+"."+key, name+" has no "+key, "leave it out")
		}
	}
}

// whole reports whether a number is written as an integer.
func (d *description) whole(key string) bool {
	q := d.said(key)
	if q == nil {
		return false
	}
	_, err := strconv.ParseInt(strings.ReplaceAll(q.Value.Text, "_", ""), 10, 64)
	return err == nil
}

// when reads conditions: key: value, or key: [values].
func (d *description) when(q config.Pair) {
	if q.Value.Kind != config.NodeMapping {
		d.f.fault(q.At, d.path+".when", "expected a key with the values at which the parameter exists, found "+
			q.Value.Describe(), "e.g. when: {model.switching: concrete}")
		return
	}
	for _, c := range q.Value.Pairs {
		condition := sweep.Condition{Key: c.Key}
		d.f.origins[d.path+".when."+c.Key] = c.At
		c.Value = listed(c.Value)
		d.f.section(alone("values", c), d.path+".when."+c.Key, "", &condition)
		d.p.When = append(d.p.When, condition)
	}
}

// settle completes the conditions on keys that are not searched with the values of the base.
func (f *File) settle(b *Base) {
	var keys []string // of all kinds, for hints
	for _, k := range b.kinds.Keys() {
		keys = append(keys, k.Path)
	}
	searched := func(key string) bool {
		return slices.ContainsFunc(f.Spec.Parameters, func(p sweep.Parameter) bool { return p.Key == key })
	}
	for i := range f.Spec.Parameters {
		p := &f.Spec.Parameters[i]
		for j := range p.When {
			c := &p.When[j]
			if searched(c.Key) {
				continue
			}
			v, ok := b.Config.Value(c.Key)
			if !ok {
				hint := ""
				if near := setting.Nearest(c.Key, keys); near != "" {
					hint = "did you mean " + near + "?"
				}
				f.fault(f.origins["parameters."+p.Key+".when."+c.Key], "parameters."+p.Key+".when", c.Key+" is no key", hint)
				continue
			}
			c.Fixed = v
		}
	}
}
