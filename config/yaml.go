package config

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/switchyard-ml/switchyard/internal/setting"
)

// YAML writes every key of the configuration in the order of the tree. Equal configurations give equal bytes, and Parse
// of these bytes gives the same configuration.
func (c Config) YAML() []byte {
	var b bytes.Buffer
	c.write(&b, func(Key) bool { return true }, func(*bytes.Buffer, Section) {}, func(Key) string { return "" })
	return b.Bytes()
}

// Effective is YAML without the keys that have no effect: runs of configurations with the same bytes are the same run.
func (c Config) Effective() []byte {
	var b bytes.Buffer
	keys := c.keys()
	listed := func(k Key) bool { return k.matters(&c, keys) }
	c.write(&b, listed, func(*bytes.Buffer, Section) {}, func(Key) string { return "" })
	return b.Bytes()
}

// Value is a key with its value, as it is written.
type Value struct{ Key, Text string }

// Values lists the keys that have an effect, with their values, in the order of the tree.
func (c Config) Values() []Value {
	keys := c.keys()
	var list []Value
	for _, k := range keys {
		if k.matters(&c, keys) {
			list = append(list, Value{k.Path, k.format(&c)})
		}
	}
	return list
}

// Digest is the hex SHA-256 of YAML. Unlike Identity, it depends on every key.
func (c Config) Digest() string {
	sum := sha256.Sum256(c.YAML())
	return hex.EncodeToString(sum[:])
}

// Equal reports whether all keys with an effect have the same values in both configurations.
func (c Config) Equal(o Config) bool { return len(c.differ(o, Key.matters)) == 0 }

// Clone returns a copy that shares no settings with c.
func (c Config) Clone() Config {
	c.Env.Settings, c.Model.Settings = setting.Copy(c.Env.Settings), setting.Copy(c.Model.Settings)
	return c
}

// Annotated writes the configuration with the meaning of each key. If a value does not come from the preset, the line
// says where it was written. Keys without effect are left out if nothing but the preset sets them.
func (r *Resolved) Annotated() []byte {
	var b bytes.Buffer
	keys := r.Config.keys()
	listed := func(k Key) bool {
		at := r.origins[k.Path]
		return k.matters(&r.Config, keys) || at != (Origin{}) && !at.fromPreset()
	}
	section := func(b *bytes.Buffer, s Section) { fmt.Fprintf(b, "\n# %s\n", s.Doc) }
	r.Config.write(&b, listed, section, r.comment)
	return b.Bytes()
}

// comment is what Annotated writes behind a key: its meaning, the words that it may be, its source, and who set it.
func (r *Resolved) comment(k Key) string {
	parts := []string{k.Doc}
	if len(k.Values) > 0 {
		parts = append(parts, strings.Join(k.Values, " | "))
	}
	if k.Source != "" {
		parts = append(parts, k.Source)
	}
	if at := r.origins[k.Path]; at != (Origin{}) && !at.fromPreset() {
		parts = append(parts, "set by "+at.String())
	}
	return strings.Join(parts, " · ")
}

// write writes the listed keys as YAML. section is called before the first key of a section; comment returns what
// follows a key, in a column of its own, or "".
func (c *Config) write(b *bytes.Buffer, listed func(Key) bool, section func(*bytes.Buffer, Section),
	comment func(Key) string,
) {
	layout := c.layout()
	// The section that is open. Keys lie section by section, so that each is opened once.
	open := ""
	for _, k := range layout.keys {
		if !listed(k) {
			continue
		}
		indent := ""
		if s := k.Section(); s != "" {
			indent = "  "
			if s != open {
				section(b, layout.sections[slices.IndexFunc(layout.sections, func(o Section) bool { return o.Name == s })])
				fmt.Fprintf(b, "%s:\n", s)
				open = s
			}
		}
		line := indent + k.Name() + ": " + k.format(c)
		if text := comment(k); text != "" {
			line = fmt.Sprintf("%-34s # %s", line, text)
		}
		b.WriteString(line + "\n")
	}
}

// Map is the configuration as the values of its keys that have an effect, by path, as they are written in a file.
func (c *Config) Map() map[string]string {
	values := map[string]string{}
	for _, v := range c.Values() {
		values[v.Key] = v.Text
	}
	return values
}
