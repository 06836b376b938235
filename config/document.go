package config

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/internal/setting"
)

// An entry is one key with the text of its value, as a layer gives it.
type entry struct {
	path   string
	text   string
	origin Origin // of the value
	keyAt  Origin // of the key
}

// flattener makes entries of a mapping of sections and keys (or of dotted keys), in the order of the file.
type flattener struct {
	*document
	kinds   *Kinds
	entries []entry
	// Where each path was written first.
	seen map[string]Origin
}

// parseDocument returns the entries of a YAML file, in their order, and all of its problems with their positions.
// Both may be there: what could be read goes on to be checked. It knows which words are sections from k, but
// whether a key exists is found out when the entry is applied. A file above maxDocument, and one that is no YAML,
// has no entries.
func (k *Kinds) parseDocument(name string, data []byte) ([]entry, []Problem) {
	d := &flattener{document: newDocument(name, data), kinds: k, seen: map[string]Origin{}}
	d.mapping("", d.read())
	return d.entries, d.problems
}

// mapping visits the keys below path; the path of the whole document is "".
func (d *flattener) mapping(path string, n Node) {
	if n.Kind != NodeMapping && (n.Kind != NodeNothing || n.odd != "") {
		d.add(n.Origin, path, "expected keys with values, found "+n.Describe(), "write `key: value` lines")
	}
	for _, p := range n.Pairs {
		d.pair(path, p)
	}
}

// pair visits a key: a section's keys below it, or one value. A key with dots is taken as a path, so that
// optim.rate: 1 and optim: {rate: 1} are the same, and both together are written twice. Numbers and booleans keep the
// text that was written: how it is read depends on the type of the key.
func (d *flattener) pair(path string, p Pair) {
	full := setting.Join(path, p.Key)
	switch first, twice := d.seen[full]; {
	case p.odd != "":
		d.add(p.At, path, "a key must be plain text, found "+p.odd, "")
	case d.kinds.isSection(full):
		d.mapping(full, p.Value)
	case twice:
		d.add(p.At, full, fmt.Sprintf("written twice, first in line %d", first.Line), "keep one")
	case p.Value.Kind == NodeValue:
		d.seen[full] = p.At
		d.entries = append(d.entries, entry{path: full, text: p.Value.Text, origin: p.Value.Origin, keyAt: p.At})
	default:
		d.seen[full] = p.At
		// An unknown key comes before a wrong value: the key may be a misspelt section.
		if unknown, ok := d.kinds.unknownKey(full, p.At, d.kinds.Keys()); ok {
			d.problems = append(d.problems, unknown)
			return
		}
		d.add(p.At, full, "expected one value, found "+p.Value.Describe(), "")
	}
}
