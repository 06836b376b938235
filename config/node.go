package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/switchyard-ml/switchyard/internal/setting"
)

// MaxSize is the most bytes that a configuration may have as YAML writes it: as many as a message to a worker holds.
// All keys but those of text fit in a few KiB; env.files may list thousands of paths.
const MaxSize = 1 << 19

// maxDocument is the largest size of a file, in bytes. A configuration with comments, or a sweep of it, has more than
// the configuration alone.
const maxDocument = 2 * MaxSize

// Node is a part of a YAML file with the place where it stands. It is a mapping, a list or one value. Configurations
// are made of nodes; other files, such as that of a sweep, are read as nodes, so that their problems have positions,
// too.
type Node struct {
	Origin Origin
	Kind   NodeKind
	Text   string // of a value
	Pairs  []Pair // of a mapping, in the order of the file
	Items  []Node // of a list

	odd string // what stands there, if it has none of the kinds
}

// NodeKind is what a node is.
type NodeKind uint8

// The kinds of nodes.
const (
	NodeNothing NodeKind = iota
	NodeValue
	NodeList
	NodeMapping
)

// Pair is a key of a mapping with its value.
type Pair struct {
	Key   string
	At    Origin // of the key
	Value Node

	odd string // what the key is, if it is no text
}

// Pair is the pair of a key, where it stands in n; nil if n is no mapping, or has no such key.
func (n Node) Pair(key string) *Pair {
	i := slices.IndexFunc(n.Pairs, func(p Pair) bool { return p.Key == key })
	if i < 0 {
		return nil
	}
	return &n.Pairs[i]
}

// Describe is what a node is, for a message.
func (n Node) Describe() string {
	if n.odd != "" {
		return n.odd
	}
	return [...]string{"nothing", "a single value", "a list", "keys with values"}[n.Kind]
}

// ReadNodes reads a YAML file that is no configuration of a run. name is the file in messages. An empty file is
// NodeNothing. The error is an *Error: no YAML, more than maxDocument bytes, a second document, keys that are
// written twice or no text, and anchors.
func ReadNodes(name string, data []byte) (Node, error) {
	d := newDocument(name, data)
	root := d.read()
	d.check("", root)
	if len(d.problems) > 0 {
		return Node{}, &Error{Problems: d.problems}
	}
	return root, nil
}

// document reads one YAML file.
type document struct {
	name     string
	text     string
	problems []Problem
}

// newDocument is a file that is to be read. The byte order mark with which editors on Windows begin a file in UTF-8 is
// no part of its text: the parser would take it for a letter of the first key. Nor are the carriage returns at the ends
// of its lines: the parser would count a line with a comment twice.
func newDocument(name string, data []byte) *document {
	text := strings.TrimPrefix(string(data), "\ufeff")
	return &document{name: name, text: strings.ReplaceAll(text, "\r\n", "\n")}
}

// read is the node of the whole file.
func (d *document) read() Node {
	root := Node{Origin: Origin{Name: d.name}}
	if len(d.text) > maxDocument {
		d.add(root.Origin, "", fmt.Sprintf("the file has %d bytes, more than the %d allowed", len(d.text), maxDocument), "")
		return root
	}
	if strings.ContainsRune(d.text, 0) { // as a shell on Windows writes files
		d.add(root.Origin, "", "the file has zero bytes, as text in UTF-16 has", "save it as UTF-8")
		return root
	}
	// A key that is written twice is reported with the line of the first, and not by the parser.
	file, err := parser.ParseBytes([]byte(d.text), 0, parser.AllowDuplicateMapKey())
	if err != nil {
		d.syntax(err)
		return root
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
		root = d.node(doc.Body)
	}
	return root
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

// node is the node of a part.
func (d *document) node(n ast.Node) Node {
	out := Node{}
	if n != nil {
		out.Origin = d.at(n.GetToken())
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		return d.mapping(out, n.Values)
	case *ast.MappingValueNode:
		return d.mapping(out, []*ast.MappingValueNode{n})
	case *ast.SequenceNode:
		out.Kind = NodeList
		for _, item := range n.Values {
			out.Items = append(out.Items, d.node(item))
		}
	case *ast.StringNode:
		out.Kind, out.Text = NodeValue, n.Value
	case *ast.LiteralNode:
		out.Kind, out.Text = NodeValue, strings.TrimSpace(n.Value.Value)
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		out.Kind, out.Text = NodeValue, n.GetToken().Value
	case *ast.NullNode, *ast.CommentGroupNode, *ast.CommentNode, nil:
	default:
		out.odd = describe(n)
	}
	return out
}

// mapping adds the pairs to a node. Its origin is its first key.
func (d *document) mapping(out Node, pairs []*ast.MappingValueNode) Node {
	out.Kind = NodeMapping
	if len(pairs) > 0 {
		out.Origin = d.at(pairs[0].Key.GetToken())
	}
	for _, pair := range pairs {
		p := Pair{At: d.at(pair.Key.GetToken()), Value: d.node(pair.Value)}
		if text, ok := pair.Key.(*ast.StringNode); ok {
			p.Key = text.Value
		} else {
			p.odd = describe(pair.Key)
		}
		out.Pairs = append(out.Pairs, p)
	}
	return out
}

// check reports what no file of nodes may have. path names a part in messages: keys with dots, and items as [0].
func (d *document) check(path string, n Node) {
	if n.odd != "" {
		d.add(n.Origin, path, "expected keys, a list or a value, found "+n.odd, "")
	}
	for i, item := range n.Items {
		d.check(fmt.Sprintf("%s[%d]", path, i), item)
	}
	seen := map[string]Origin{}
	for _, p := range n.Pairs {
		full := setting.Join(path, p.Key)
		switch first, twice := seen[p.Key]; {
		case p.odd != "":
			d.add(p.At, path, "a key must be plain text, found "+p.odd, "")
		case twice:
			d.add(p.At, full, fmt.Sprintf("written twice, first in line %d", first.Line), "keep one")
		default:
			seen[p.Key] = p.At
			d.check(full, p.Value)
		}
	}
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
