package config_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/config"
)

// node is a part of the JSON Schema of configurations.
type node struct {
	Type       string
	Enum       []string
	Default    any
	Minimum    *float64
	Maximum    *float64
	Properties map[string]node
}

// values are some that a key may have alone.
func (n node) values() []string {
	list := append([]string{}, n.Enum...)
	switch n.Type {
	case "boolean":
		return []string{"true", "false"}
	case "integer":
		list = append(list, "1", "2", "3", "8", "50")
	case "number":
		list = append(list, "0.5", "1")
	}
	for _, end := range []*float64{n.Minimum, n.Maximum} {
		if end != nil {
			list = append(list, fmt.Sprintf("%.0f", *end))
		}
	}
	return append(list, fmt.Sprint(n.Default))
}

// leaves collects the keys by path.
func (n node) leaves(path string, into map[string][]string) {
	for name, child := range n.Properties {
		if child.Properties != nil {
			child.leaves(path+name+".", into)
		} else if path+name != "preset" {
			into[path+name] = child.values()
		}
	}
}

// TestProblems_NameAnArgument: presets alone are valid, so each fault of a preset with some arguments is reported at one
// of these arguments.
func TestProblems_NameAnArgument(t *testing.T) {
	kinds, presets := kinds(), config.Presets()
	text, err := kinds.Schema()
	if err != nil {
		t.Fatal(err)
	}
	var schema node
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	values := map[string][]string{}
	schema.leaves("", values)
	paths := slices.Sorted(maps.Keys(values))
	seen := map[string]bool{}
	for n := range uint64(1000) {
		draw := rand.New(rand.NewPCG(n, 1))
		preset := presets[draw.IntN(len(presets))].Name
		arguments := []string{}
		for range 1 + draw.IntN(4) {
			path := paths[draw.IntN(len(paths))]
			arguments = append(arguments, path+"="+values[path][draw.IntN(len(values[path]))])
		}
		_, err := kinds.Resolve(config.Sources{Preset: preset, Arguments: arguments})
		var faults *config.Error
		if err != nil && !errors.As(err, &faults) {
			t.Fatalf("%s %v: %v", preset, arguments, err)
		}
		if faults == nil {
			continue
		}
		for _, p := range faults.Problems {
			if !strings.HasPrefix(p.Origin.Name, "argument ") && !seen[p.Key+p.Message] {
				seen[p.Key+p.Message] = true
				t.Errorf("%s %v: %v", preset, arguments, p)
			}
		}
	}
}
