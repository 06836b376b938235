package config

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Node is a part of a YAML file with the place where it stands. It is a mapping, a list or one value. Files other
// than configurations, such as that of a sweep, are read as nodes, so that their problems have positions, too.
type Node struct {
	Origin Origin
	Kind   NodeKind
	Text   string // of a value
	Pairs  []Pair // of a mapping, in the order of the file
	Items  []Node // of a list
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
}

// ReadNodes reads a YAML file that is no configuration of a run. name is the file in messages. An empty file is
// NodeNothing. The error is an *Error: no YAML, more than maxDocument bytes, a second document, keys that are
// written twice, and anchors.
func ReadNodes(name string, data []byte) (Node, error) {
	r := &nodes{document{name: name, text: string(data)}}
	root := r.file(data)
	if len(r.problems) > 0 {
		return Node{}, &Error{Problems: r.problems}
	}
	return root, nil
}

// nodes makes nodes of a document. It shares the positions and problems of documents.
type nodes struct{ document }

// file is the node of the whole file.
func (r *nodes) file(data []byte) Node {
	if len(data) > maxDocument {
		r.add(Origin{Name: r.name}, "", fmt.Sprintf("the file has %d bytes, more than the %d allowed", len(data),
			maxDocument), "")
		return Node{}
	}
	file, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		r.syntax(err)
		return Node{}
	}
	root, written := Node{Origin: Origin{Name: r.name}}, 0
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if written++; written > 1 {
			r.add(r.at(doc.Body.GetToken()), "", "a second YAML document", "keep one")
			break
		}
		root = r.node("", doc.Body)
	}
	return root
}

// node is the node of a part. path names the part in messages: keys with dots, and items as [0].
func (r *nodes) node(path string, n ast.Node) Node {
	out := Node{}
	if n != nil {
		out.Origin = r.at(n.GetToken())
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		return r.mapping(path, out, n.Values)
	case *ast.MappingValueNode:
		return r.mapping(path, out, []*ast.MappingValueNode{n})
	case *ast.SequenceNode:
		out.Kind = NodeList
		for i, item := range n.Values {
			out.Items = append(out.Items, r.node(fmt.Sprintf("%s[%d]", path, i), item))
		}
	case *ast.StringNode:
		out.Kind, out.Text = NodeValue, n.Value
	case *ast.LiteralNode:
		out.Kind, out.Text = NodeValue, strings.TrimSpace(n.Value.Value)
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		out.Kind, out.Text = NodeValue, n.GetToken().Value
	case *ast.NullNode, *ast.CommentGroupNode, *ast.CommentNode, nil:
	default:
		r.add(out.Origin, path, "expected keys, a list or a value, found "+describe(n), "")
	}
	return out
}

// mapping adds the pairs to a node. A key that is written twice keeps its first value. Its origin is its first key.
func (r *nodes) mapping(path string, out Node, pairs []*ast.MappingValueNode) Node {
	out.Kind = NodeMapping
	if len(pairs) > 0 {
		out.Origin = r.at(pairs[0].Key.GetToken())
	}
	seen := map[string]Origin{}
	for _, pair := range pairs {
		at := r.at(pair.Key.GetToken())
		key := pair.Key.GetToken().Value
		full := key
		if path != "" {
			full = path + "." + key
		}
		if _, anchor := pair.Key.(*ast.MergeKeyNode); anchor {
			r.add(at, path, "expected a key, found a YAML anchor or alias", "")
			continue
		}
		if first, twice := seen[key]; twice {
			r.add(at, full, fmt.Sprintf("written twice, first in line %d", first.Line), "keep one")
			continue
		}
		seen[key] = at
		out.Pairs = append(out.Pairs, Pair{key, at, r.node(full, pair.Value)})
	}
	return out
}
