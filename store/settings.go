package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/switchyard-ml/switchyard/config"
)

// Settings reads the resolved configuration of the named run key by key, in the order of its file, without knowing the
// kinds of environments and models that it names. A list is one text, as [A, B]; a key without a value is left out.
func Settings(dir, name string) ([]config.Value, error) {
	data, path, err := Config(dir, name)
	if err != nil {
		return nil, err
	}
	root, err := config.ReadNodes(path, data)
	if err != nil {
		return nil, fmt.Errorf("%w: read the configuration: %w", ErrDamaged, err)
	}
	return settings(nil, "", root), nil
}

// Overrides reads the settings of the named run on top of its preset, as key=value. A value may have spaces. A run
// without the file has none.
func Overrides(dir, name string) ([]string, error) {
	folder, err := find(dir, name)
	if err != nil {
		return nil, err
	}
	text, err := ReadFile(filepath.Join(folder, overridesFile))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' }), err
}

// settings appends what stands below a key. A key is the path to a value, its names joined by dots.
func settings(list []config.Value, key string, n config.Node) []config.Value {
	switch n.Kind {
	case config.NodeMapping:
		for _, p := range n.Pairs {
			list = settings(list, strings.TrimPrefix(key+"."+p.Key, "."), p.Value)
		}
	case config.NodeList:
		items := make([]string, len(n.Items))
		for i, item := range n.Items {
			items[i] = item.Text
		}
		list = append(list, config.Value{Key: key, Text: "[" + strings.Join(items, ", ") + "]"})
	case config.NodeValue:
		list = append(list, config.Value{Key: key, Text: n.Text})
	}
	return list
}
