package trials

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/internal/setting"
)

// key is a key that a section of a sweep file may have, with the struct that holds its value. Beside the tags of
// package setting its field may have those of a sweep file:
//
//	same    names that mean the same, in other programs
//	also    names that users of other programs try, which are not understood: the key is offered in their place
//	unused  why nothing comes of the key; empty: that goes without saying
//
// A field is a value, a list of values, or a *config.Pair, which stays nil if the key is not written and is otherwise
// read by hand.
type key struct {
	setting.Key
	holder any
}

// names are those that are understood.
func (k key) names() []string { return append(strings.Fields(k.Tag.Get("same")), k.Path) }

// section reads the keys of a section into the fields of holders, which are pointers to structs; path is its own. The
// example is a hint for a section that is none. What is wrong is reported, and leaves its field as it was.
func (f *File) section(p config.Pair, path, example string, holders ...any) {
	if p.Value.Kind != config.NodeMapping {
		f.fault(p.At, path, "expected keys, found "+p.Value.Describe(), example)
		return
	}
	var keys []key
	for _, holder := range holders {
		setting.Walk(holder, "", func(k setting.Key) { keys = append(keys, key{k, holder}) }, nil)
	}
	for _, q := range p.Value.Pairs {
		full := setting.Join(path, q.Key)
		f.origins[full] = q.At
		i := slices.IndexFunc(keys, func(k key) bool { return slices.Contains(k.names(), q.Key) })
		if i < 0 {
			f.unknown(q, full, keys)
			continue
		}
		f.read(keys[i], q, full)
	}
}

// read stores what is written of one key.
func (f *File) read(k key, p config.Pair, path string) {
	why, unused := k.Tag.Lookup("unused")
	switch list := strings.HasPrefix(k.Type, "[]"); {
	case why != "":
		f.note("%s is not used: %s", path, why)
	case unused:
	case k.Type == "*config.Pair":
		k.Set(k.holder, &p)
	case list && p.Value.Kind == config.NodeList:
		for i, item := range p.Value.Items {
			f.origins[fmt.Sprintf("%s[%s]", path, item.Text)] = item.Origin
			f.store(k.Append, k, config.Pair{At: item.Origin, Value: item}, fmt.Sprintf("%s[%d]", path, i))
		}
	case list:
		f.fault(p.Value.Origin, path, "expected a list, found "+p.Value.Describe(), "e.g. [1, 2]")
	default:
		f.store(k.Assign, k, p, path)
	}
}

// store gives a key, or one more item of it, a value by one of the methods of setting.Key.
func (f *File) store(method func(any, string) (string, string), k key, p config.Pair, path string) {
	if p.Value.Kind != config.NodeValue {
		f.fault(p.At, path, "expected one value, found "+p.Value.Describe(), "")
		return
	}
	if fault, hint := method(k.holder, p.Value.Text); fault != "" {
		f.fault(p.Value.Origin, path, fault, hint)
	}
}

// unknown reports a key that is not among those of its section.
func (f *File) unknown(p config.Pair, path string, keys []key) {
	var names, listed []string
	other := ""
	for _, k := range keys {
		names = append(names, k.names()...)
		if _, unused := k.Tag.Lookup("unused"); !unused {
			listed = append(listed, k.Path)
		}
		if slices.Contains(strings.Fields(k.Tag.Get("also")), p.Key) {
			other = k.Path
		}
	}
	hint := "it has the keys " + strings.Join(listed, ", ")
	if near := cmp.Or(setting.Nearest(p.Key, names), other); near != "" {
		hint = "did you mean " + near + "?"
	}
	f.fault(p.At, path, "unknown key", hint)
}

// alone is the section that is meant by a value, or a list, in the place of a section: the key has that value. Nothing
// is a section without keys.
func alone(key string, p config.Pair) config.Pair {
	n := config.Node{Origin: p.Value.Origin, Kind: config.NodeMapping}
	if p.Value.Kind != config.NodeNothing {
		n.Pairs = []config.Pair{{Key: key, At: p.Value.Origin, Value: p.Value}}
	}
	p.Value = n
	return p
}

// listed is a node as a list: what is none is a list of one.
func listed(n config.Node) config.Node {
	if n.Kind == config.NodeList {
		return n
	}
	return config.Node{Origin: n.Origin, Kind: config.NodeList, Items: []config.Node{n}}
}
