package config

import (
	"encoding/json"
	"fmt"
)

// schemaNode is the part of JSON Schema (2020-12) that the tree needs.
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
func Schema() ([]byte, error) {
	defaults, err := Resolve(Sources{})
	if err != nil {
		return nil, fmt.Errorf("resolve the default preset: %w", err)
	}
	root := newObject("a configuration of switchyard")
	root.Schema = "https://json-schema.org/draft/2020-12/schema"
	root.Title = "switchyard"
	for _, s := range Sections() {
		root.Properties[s.Name] = newObject(s.Doc)
	}
	for _, k := range Keys() {
		node, err := k.schema(&defaults.Config)
		if err != nil {
			return nil, err
		}
		parent := root
		if s := k.section(); s != "" {
			parent = root.Properties[s]
		}
		parent.Properties[k.name()] = node
	}
	out, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the schema: %w", err)
	}
	return append(out, '\n'), nil
}

func newObject(doc string) *schemaNode {
	closed := false
	return &schemaNode{Description: doc, Type: "object", Properties: map[string]*schemaNode{}, Closed: &closed}
}

func (k Key) schema(defaults *Config) (*schemaNode, error) {
	n := &schemaNode{Description: k.Doc, Type: k.Type, Enum: k.Values}
	if k.Source != "" {
		n.Description += " (" + k.Source + ")"
	}
	value := k.value(defaults).Interface()
	switch k.Type {
	case "text":
		n.Type = "string"
		if k.Path == presetKey {
			n.Enum = presetNames()
		}
	case "duration":
		n.Type, n.Pattern = "string", `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`
		value = format(k.value(defaults))
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode the default of %s: %w", k.Path, err)
	}
	n.Default = encoded
	if k.Want == "" || k.Type == "duration" {
		return n, nil
	}
	r, err := parseInterval(k.Want)
	if err != nil {
		return nil, fmt.Errorf("range of %s: %w", k.Path, err)
	}
	n.Minimum, n.Above = end(r.low, r.openLow)
	n.Maximum, n.Below = end(r.high, r.openHigh)
	return n, nil
}

// end returns v as the inclusive or the exclusive end of a range.
func end(v float64, open bool) (inclusive, exclusive *float64) {
	if open {
		return nil, &v
	}
	return &v, nil
}
