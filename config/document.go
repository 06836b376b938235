package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// maxDocument is the largest size of a configuration file, in bytes; the whole tree fits in 3 KiB.
const maxDocument = 64 << 10

// An entry is one key with the text of its value, as a layer gives it.
type entry struct {
	path   string
	text   string
	origin Origin // of the value
	keyAt  Origin // of the key
}

// document flattens a YAML mapping of sections and keys (or of dotted keys) into entries, in the order of the file.
type document struct {
	kinds    *Kinds
	name     string
	text     string
	entries  []entry
	problems []Problem
	// Where each path was written first.
	seen map[string]Origin
}

// parseDocument returns the entries of a YAML file, in their order, and all of its problems with their positions.
// Both may be there: what could be read goes on to be checked. It knows which words are sections from k, but
// whether a key exists is found out when the entry is applied. A file above maxDocument, and one that is no YAML,
// has no entries.
func (k *Kinds) parseDocument(name string, data []byte) ([]entry, []Problem) {
	d := &document{kinds: k, name: name, text: string(data), seen: map[string]Origin{}}
	if len(data) > maxDocument {
		d.add(Origin{Name: name}, "", fmt.Sprintf("the file has %d bytes, more than the %d allowed", len(data), maxDocument),
			"")
		return nil, d.problems
	}
	// A key that is written twice is reported by pair, with the line of the first, not by the parser.
	file, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		d.syntax(err)
		return nil, d.problems
	}
	written := 0
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if written++; written > 1 {
			d.add(d.at(doc.Body.GetToken()), "", "a second YAML document", "keep one")
			break
		}
		d.mapping("", doc.Body)
	}
	return d.entries, d.problems
}

// syntax adds the problem of a file that is not YAML, at the token where the parser gave up if it tells.
func (d *document) syntax(err error) {
	var fault yaml.Error
	if errors.As(err, &fault) {
		d.add(d.at(fault.GetToken()), "", "not YAML: "+fault.GetMessage(), "")
		return
	}
	d.add(Origin{Name: d.name}, "", "not YAML: "+err.Error(), "")
}

// at is the origin of a token; of nil, it is the file without a line.
func (d *document) at(t *token.Token) Origin {
	o := Origin{Name: d.name, text: d.text}
	if t != nil && t.Position != nil {
		o.Line, o.Col = t.Position.Line, t.Position.Column
	}
	return o
}

// add notes a problem.
func (d *document) add(at Origin, key, message, hint string) {
	d.problems = append(d.problems, Problem{Origin: at, Key: key, Message: message, Hint: hint})
}

// mapping visits the keys below path; the path of the whole document is "".
func (d *document) mapping(path string, node ast.Node) {
	var pairs []*ast.MappingValueNode
	switch n := node.(type) {
	case *ast.MappingNode:
		pairs = n.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{n}
	case *ast.CommentGroupNode, *ast.CommentNode, *ast.NullNode:
		return
	default:
		d.add(d.at(node.GetToken()), path, "expected keys with values, found "+describe(node), "write `key: value` lines")
		return
	}
	for _, pair := range pairs {
		d.pair(path, pair)
	}
}

// pair visits a key: a section's keys below it, or one value. A key with dots is taken as a path, so that
// optim.rate: 1 and optim: {rate: 1} are the same, and both together are written twice.
func (d *document) pair(path string, pair *ast.MappingValueNode) {
	keyAt := d.at(pair.Key.GetToken())
	name, ok := pair.Key.(*ast.StringNode)
	if !ok {
		d.add(keyAt, path, "a key must be plain text, found "+describe(pair.Key), "")
		return
	}
	full := name.Value
	if path != "" {
		full = path + "." + name.Value
	}
	if d.kinds.isSection(full) {
		d.mapping(full, pair.Value)
		return
	}
	if first, twice := d.seen[full]; twice {
		d.add(keyAt, full, fmt.Sprintf("written twice, first in line %d", first.Line), "keep one")
		return
	}
	d.seen[full] = keyAt
	d.scalar(full, keyAt, pair.Value)
}

// scalar makes an entry of a value. Numbers and booleans keep the text that was written: how it is read depends on
// the type of the key. Lists, mappings and anchors are problems.
func (d *document) scalar(path string, keyAt Origin, node ast.Node) {
	s := entry{path: path, keyAt: keyAt, origin: keyAt}
	switch n := node.(type) {
	case *ast.StringNode:
		s.text = n.Value
	case *ast.LiteralNode:
		s.text = strings.TrimSpace(n.Value.Value)
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		s.text = n.GetToken().Value
	default:
		// An unknown key comes before a wrong value: the key may be a misspelt section.
		if p, unknown := d.kinds.unknownKey(path, keyAt, d.kinds.Keys()); unknown {
			d.problems = append(d.problems, p)
			return
		}
		d.add(keyAt, path, "expected one value, found "+describe(node), "")
		return
	}
	s.origin = d.at(node.GetToken())
	d.entries = append(d.entries, s)
}

// describe names what a node is, as part of a message.
func describe(node ast.Node) string {
	switch node.(type) {
	case *ast.NullNode, nil:
		return "nothing"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "keys with values"
	case *ast.SequenceNode:
		return "a list"
	case *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode:
		return "a YAML anchor or alias"
	case *ast.TagNode:
		return "a YAML tag"
	case *ast.DirectiveNode:
		return "a YAML directive"
	default:
		return "a single value"
	}
}
