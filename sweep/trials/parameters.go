package trials

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/internal/setting"
	"github.com/switchyard-ml/switchyard/sweep"
)

// parameterKeys are the keys of a parameter.
var parameterKeys = []string{
	"value", "values", "probabilities", "distribution", "min", "max", "mu", "sigma", "q", "when", "aggregate",
	"parameters",
}

// parameters reads the section parameters; prefix is that of a nested section, with its dot. Sections may be
// nested, as in W&B, or dotted.
func (f *File) parameters(p config.Pair, prefix string) {
	if p.Value.Kind != config.NodeMapping {
		f.fault(p.At, strings.TrimSuffix("parameters."+prefix, "."), "expected keys, found "+describe(p.Value),
			"e.g. optim.rate: {values: [1e-3, 1e-2]}")
		return
	}
	for _, q := range p.Value.Pairs {
		key := prefix + q.Key
		f.origins["parameters."+key] = q.At
		if nested := nestedIn(q.Value); nested != nil {
			f.parameters(*nested, key+".")
			continue
		}
		f.parameter(q, key)
	}
}

// nestedIn is the section below a parameter that is one; nil if it is not.
func nestedIn(n config.Node) *config.Pair {
	for _, p := range n.Pairs {
		if p.Key == "parameters" {
			return &p
		}
	}
	return nil
}

// parameter reads one parameter. A value alone is fixed, a list alone is a choice.
func (f *File) parameter(p config.Pair, key string) {
	switch p.Value.Kind {
	case config.NodeValue:
		f.fix(key, p.Value)
	case config.NodeList:
		f.add(sweep.Parameter{Key: key, Distribution: sweep.Categorical, Values: f.texts(p.Value, "parameters."+key)},
			p.Value)
	case config.NodeMapping:
		f.described(p, key)
	default:
		f.fault(p.At, "parameters."+key, "it has no values", "e.g. {values: [1, 2]}, or {min: 1, max: 10}")
	}
}

// fix gives a key one value, on top of the base. That of seed is the only seed.
func (f *File) fix(key string, n config.Node) {
	if n.Kind != config.NodeValue {
		f.fault(n.Origin, "parameters."+key+".value", "expected one value, found "+describe(n), "values takes a list")
		return
	}
	if key == "seed" {
		f.seeds([]string{n.Text}, n)
		return
	}
	f.Fixed = append(f.Fixed, sweep.Setting{Key: key, Value: n.Text})
}

// texts are the values of a list as they are written, whose places are remembered for messages. What is no value
// is reported and left out.
func (f *File) texts(n config.Node, path string) []string {
	if n.Kind != config.NodeList {
		f.fault(n.Origin, path, "expected a list, found "+describe(n), "e.g. [1, 2]")
		return nil
	}
	var list []string
	for i, item := range n.Items {
		if item.Kind != config.NodeValue {
			f.fault(item.Origin, fmt.Sprintf("%s[%d]", path, i), "expected one value, found "+describe(item), "")
			continue
		}
		f.origins[fmt.Sprintf("%s[%s]", path, item.Text)] = item.Origin
		list = append(list, item.Text)
	}
	return list
}

// add adds a parameter that is searched. The seed makes replicates, and a choice of one value is fixed, unless it
// has a condition.
func (f *File) add(p sweep.Parameter, n config.Node) {
	if p.Key == "seed" && p.Distribution == sweep.Categorical && p.When == nil {
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

// described reads a parameter with keys. Unknown keys are reported, and the rest is read.
func (f *File) described(p config.Pair, key string) {
	path := "parameters." + key
	d := description{f: f, path: path, said: map[string]config.Pair{}, p: sweep.Parameter{Key: key}}
	for _, q := range p.Value.Pairs {
		if !slices.Contains(parameterKeys, q.Key) {
			f.unknown(q, path, parameterKeys)
			continue
		}
		d.said[q.Key] = q
		f.origins[path+"."+q.Key] = q.At
	}
	d.read(p)
}

// description is a parameter that is being read.
type description struct {
	f    *File
	path string
	said map[string]config.Pair
	p    sweep.Parameter
}

func (d *description) has(key string) bool { _, ok := d.said[key]; return ok }

// read makes the parameter from its keys: value, values, or a range. One with a fault of its own is not searched,
// which would only lead to more messages.
func (d *description) read(at config.Pair) {
	f := d.f
	faults := len(f.problems)
	if q, ok := d.said["aggregate"]; ok {
		if d.p.Key != "seed" {
			f.fault(q.At, d.path+".aggregate", "only the runs of different seeds are put together", "leave it out")
		}
		f.Spec.Replicates.Aggregate = sweep.Aggregate(f.oneOf(q, d.path, []string{"mean", "median", "worst"}))
	}
	if q, ok := d.said["when"]; ok {
		d.when(q)
	}
	switch {
	case d.has("value"):
		d.constant(at)
		return
	case d.has("values"):
		d.choice()
	case d.has("distribution") || d.has("min") || d.has("max"):
		d.numeric(at)
	default:
		f.fault(at.At, d.path, "it has no values", "e.g. {values: [1, 2]}, or {min: 1, max: 10}")
	}
	// Nothing is wrong with this one so far: it is searched.
	if len(f.problems) == faults {
		f.add(d.p, at.Value)
	}
}

// constant is a parameter with one value. Under a condition it is a choice of one, since it is not in every
// configuration.
func (d *description) constant(at config.Pair) {
	q := d.said["value"]
	if d.p.When == nil {
		d.f.fix(d.p.Key, q.Value)
		return
	}
	d.p.Distribution, d.p.Values = sweep.Categorical, []string{d.f.word(q, d.path)}
	d.f.add(d.p, at.Value)
}

// choice reads a list of values, with or without probabilities.
func (d *description) choice() {
	d.p.Distribution, d.p.Values = sweep.Categorical, d.f.texts(d.said["values"].Value, d.path+".values")
	if q, ok := d.said["probabilities"]; ok {
		if q.Value.Kind != config.NodeList {
			d.f.fault(q.At, d.path+".probabilities", "expected a list, found "+describe(q.Value), "one for each value")
			return
		}
		for _, item := range q.Value.Items {
			d.p.Weights = append(d.p.Weights, d.f.number(config.Pair{Key: "probabilities", At: q.At, Value: item}, d.path))
		}
	}
	if q, ok := d.said["distribution"]; ok && q.Value.Text != "categorical" {
		d.f.fault(q.Value.Origin, d.path+".distribution", "values have the distribution categorical",
			"leave it out, or give min and max")
	}
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

// numeric reads a range or a normal law. Without a distribution it is uniform: of integers if both ends are
// written as such.
func (d *description) numeric(at config.Pair) {
	f := d.f
	for key, to := range map[string]*float64{
		"min": &d.p.Min, "max": &d.p.Max, "mu": &d.p.Mu, "sigma": &d.p.Sigma,
		"q": &d.p.Q,
	} {
		if q, ok := d.said[key]; ok {
			*to = f.number(q, d.path)
		}
	}
	// A name of W&B that is not here gets the name that is.
	q, said := d.said["distribution"]
	if !said {
		d.p.Distribution = sweep.Uniform
		if d.whole("min") && d.whole("max") {
			d.p.Distribution = sweep.IntUniform
		}
	} else if hint, ok := elsewhere[q.Value.Text]; ok {
		f.fault(q.Value.Origin, d.path+".distribution", fmt.Sprintf("%s is not here", q.Value.Text), hint)
		return
	} else {
		var known []string
		for _, o := range sweep.Distributions() {
			known = append(known, string(o))
		}
		if d.p.Distribution = sweep.Distribution(f.oneOf(q, d.path, known)); string(d.p.Distribution) != q.Value.Text {
			return
		}
	}
	d.ends(at)
}

// ends checks that the ends of the range, or mean and deviation, are there, and nothing else. A standard
// deviation that is left out is 1, and so is q.
func (d *description) ends(at config.Pair) {
	need, other := []string{"min", "max"}, []string{"mu", "sigma", "probabilities"}
	name := string(d.p.Distribution)
	switch {
	case d.p.Distribution == sweep.Categorical:
		need, other = []string{"values"}, []string{"min", "max", "mu", "sigma", "q"}
	case strings.HasSuffix(name, "normal"):
		need, other = nil, []string{"min", "max", "probabilities"}
		if !d.has("sigma") {
			d.p.Sigma = 1
		}
	}
	if strings.HasPrefix(name, "q_") {
		if !d.has("q") {
			d.p.Q = 1
		}
	} else {
		other = append(other, "q")
	}
	for _, key := range need {
		if !d.has(key) {
			d.f.fault(at.At, d.path+"."+key, "missing: "+name+" has "+strings.Join(need, " and "), "")
		}
	}
	for _, key := range other {
		if d.has(key) {
			d.f.fault(d.said[key].At, d.path+"."+key, name+" has no "+key, "leave it out")
		}
	}
}

// whole reports whether a number is written as an integer.
func (d *description) whole(key string) bool {
	q, ok := d.said[key]
	if !ok || strings.ContainsAny(q.Value.Text, ".eE") {
		return false
	}
	v, err := strconv.ParseFloat(strings.ReplaceAll(q.Value.Text, "_", ""), 64)
	return err == nil && v == math.Trunc(v)
}

// when reads conditions: key: value, or key: [values].
func (d *description) when(q config.Pair) {
	if q.Value.Kind != config.NodeMapping {
		d.f.fault(q.At, d.path+".when", "expected a key with the values at which the parameter exists, found "+
			describe(q.Value), "e.g. when: {model.switching: concrete}")
		return
	}
	for _, c := range q.Value.Pairs {
		condition := sweep.Condition{Key: c.Key}
		d.f.origins[d.path+".when."+c.Key] = c.At
		if c.Value.Kind == config.NodeValue {
			condition.Values = []string{c.Value.Text}
		} else {
			condition.Values = d.f.texts(c.Value, d.path+".when."+c.Key)
		}
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
