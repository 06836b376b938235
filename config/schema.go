package config

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/switchyard-ml/switchyard/internal/setting"
)

// schemaNode is the part of JSON Schema (2020-12) that the tree needs. Closed is a pointer so that false is
// written, and the ends of ranges are so that 0 is.
type schemaNode struct {
	Schema      string                 `json:"$schema,omitempty"`
	Title       string                 `json:"title,omitempty"`
	Description string                 `json:"description,omitempty"`
	Type        string                 `json:"type"`
	Enum        []string               `json:"enum,omitempty"`
	Pattern     string                 `json:"pattern,omitempty"`
	Default     json.RawMessage        `json:"default,omitempty"`
	Minimum     *float64               `json:"minimum,omitempty"`
	Maximum     *float64               `json:"maximum,omitempty"`
	Above       *float64               `json:"exclusiveMinimum,omitempty"`
	Below       *float64               `json:"exclusiveMaximum,omitempty"`
	Properties  map[string]*schemaNode `json:"properties,omitempty"`
	Closed      *bool                  `json:"additionalProperties,omitempty"`
}

// Schema returns the JSON Schema of a configuration file, for editors that check
// and complete YAML. The defaults are those of the default preset.
func (k *Kinds) Schema() ([]byte, error) {
	defaults, err := k.Resolve(Sources{})
	if err != nil {
		return nil, fmt.Errorf("resolve the default preset: %w", err)
	}
	root := newObject("a configuration of switchyard")
	root.Schema = "https://json-schema.org/draft/2020-12/schema"
	root.Title = "switchyard"
	for _, s := range k.Sections() {
		root.Properties[s.Name] = newObject(s.Doc)
	}
	// The schema has the keys of all kinds: JSON Schema cannot say simply that one key depends on another's value.
	for _, key := range k.Keys() {
		// The key as the default configuration has it, so that its default is that of the preset; else that of its
		// kind.
		example, settings := defaults.Config.example(key)
		example.Kinds = key.Kinds
		node, err := example.schema(settings)
		if err != nil {
			return nil, err
		}
		parent := root
		if s := key.Section(); s != "" {
			parent = root.Properties[s]
		}
		parent.Properties[key.Name()] = node
	}
	out, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the schema: %w", err)
	}
	return append(out, '\n'), nil
}

// newObject is the node of a mapping that has only the keys that are then put into it.
func newObject(doc string) *schemaNode {
	closed := false
	return &schemaNode{Description: doc, Type: "object", Properties: map[string]*schemaNode{}, Closed: &closed}
}

// schema is the node of a key. defaults is the struct with the value that is written as the default. A duration is
// a text for JSON Schema, so that its range cannot be written.
func (k Key) schema(defaults any) (*schemaNode, error) {
	n := &schemaNode{Description: k.Doc, Type: k.Type, Enum: k.Values}
	if k.Source != "" {
		n.Description += " (" + k.Source + ")"
	}
	if len(k.Kinds) > 0 {
		n.Description += "; only with " + strings.Join(k.Kinds, ", ")
	}
	value := k.Value(defaults)
	switch k.Type {
	case "text":
		n.Type = "string"
		if k.Path == presetKey {
			n.Enum = presetNames()
		}
	case "duration":
		n.Type, n.Pattern = "string", `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`
		value = k.Format(defaults)
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode the default of %s: %w", k.Path, err)
	}
	n.Default = encoded
	if k.Want == "" || k.Type == "duration" {
		return n, nil
	}
	// JSON Schema has two words for each end, one that includes it and one that does not.
	r, err := setting.ParseInterval(k.Want)
	if err != nil {
		return nil, fmt.Errorf("range of %s: %w", k.Path, err)
	}
	n.Minimum, n.Above = end(r.Low, r.OpenLow)
	n.Maximum, n.Below = end(r.High, r.OpenHigh)
	return n, nil
}

// example returns a key as it is in the configuration, or in the first kind that has it, and the struct that holds it.
func (c *Config) example(key Key) (Key, any) {
	for _, k := range c.keys() {
		if k.Path == key.Path {
			return k, c.settings(k.root)
		}
	}
	for _, a := range c.kinds.axes() {
		for _, kind := range a.kinds {
			if a.root == key.root && key.Kinds[0] == a.path+"="+kind.Name {
				return key, kind.Settings()
			}
		}
	}
	return key, c
}

// end returns v as the inclusive or the exclusive end of a range.
func end(v float64, open bool) (inclusive, exclusive *float64) {
	if open {
		return nil, &v
	}
	return &v, nil
}
