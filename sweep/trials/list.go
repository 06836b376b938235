package trials

import (
	"slices"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/sweep"
)

// configurations reads the configurations of a list: keys with one value each, dotted or in sections.
func (f *File) configurations(p config.Pair) {
	if p.Value.Kind != config.NodeList || len(p.Value.Items) == 0 {
		f.fault(p.At, "configurations", "expected a list of configurations, found "+p.Value.Describe(),
			"e.g. [{model.kind: arhmm}, {model.kind: lstm}]")
		return
	}
	for _, item := range p.Value.Items {
		var c sweep.Settings
		f.configuration(item, "", &c)
		f.Spec.List = append(f.Spec.List, c)
	}
}

// configuration adds the keys of one configuration below a prefix to c, in their order.
func (f *File) configuration(n config.Node, prefix string, c *sweep.Settings) {
	if n.Kind != config.NodeMapping {
		f.fault(n.Origin, "configurations", "expected keys with values, found "+n.Describe(), "e.g. {model.kind: arhmm}")
		return
	}
	for _, q := range n.Pairs {
		key := prefix + q.Key
		switch {
		case q.Value.Kind == config.NodeMapping:
			f.configuration(q.Value, key+".", c)
		case q.Value.Kind != config.NodeValue:
			f.fault(q.At, "configurations."+key, "expected one value, found "+q.Value.Describe(), "")
		case key == "seed":
			f.fault(q.At, "configurations.seed", "seeds are those of all configurations", "e.g. parameters: {seed: [1, 2]}")
		default:
			*c = append(*c, sweep.Setting{Key: key, Value: q.Value.Text})
		}
	}
}

// keysOf are the keys of configurations, each with the values that it has in them. So reports have an axis for
// each key of a list. A number that is written in several ways is one value, in the first of them.
func keysOf(list []sweep.Settings) []sweep.Parameter {
	var all []sweep.Parameter
	for _, c := range list {
		for _, s := range c {
			i := slices.IndexFunc(all, func(p sweep.Parameter) bool { return p.Key == s.Key })
			if i < 0 {
				i, all = len(all), append(all, sweep.Parameter{Key: s.Key, Distribution: sweep.Categorical})
			}
			if all[i].Index(s.Value) < 0 {
				all[i].Values = append(all[i].Values, s.Value)
			}
		}
	}
	return all
}
