package config

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// YAML writes every key in the order of the tree. Equal configurations give equal
// bytes, and Parse gives the configuration back.
func (c Config) YAML() []byte {
	var b bytes.Buffer
	c.write(&b, func(*bytes.Buffer, Section) {}, func(Key) string { return "" })
	return b.Bytes()
}

// Digest is the hex SHA-256 of YAML.
func (c Config) Digest() string {
	sum := sha256.Sum256(c.YAML())
	return hex.EncodeToString(sum[:])
}

// Annotated writes the configuration with the meaning of each key, and where its
// value was written if that was not the preset.
func (r *Resolved) Annotated() []byte {
	var b bytes.Buffer
	section := func(b *bytes.Buffer, s Section) { fmt.Fprintf(b, "\n# %s\n", s.Doc) }
	r.Config.write(&b, section, r.comment)
	return b.Bytes()
}

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

func (c Config) write(b *bytes.Buffer, section func(*bytes.Buffer, Section), comment func(Key) string) {
	sections := Sections()
	open := ""
	for _, k := range Keys() {
		indent := ""
		if s := k.section(); s != "" {
			indent = "  "
			if s != open {
				section(b, sections[0])
				fmt.Fprintf(b, "%s:\n", s)
				open, sections = s, sections[1:]
			}
		}
		line := indent + k.name() + ": " + format(k.value(&c))
		if text := comment(k); text != "" {
			line = fmt.Sprintf("%-34s # %s", line, text)
		}
		b.WriteString(line + "\n")
	}
}

// format writes a value so that assign reads the same value back.
func format(v reflect.Value) string {
	switch {
	case v.Type() == durationType:
		return time.Duration(v.Int()).String()
	case v.Kind() == reflect.Bool:
		return strconv.FormatBool(v.Bool())
	case v.Kind() == reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case v.CanUint():
		return strconv.FormatUint(v.Uint(), 10)
	case v.CanInt():
		return strconv.FormatInt(v.Int(), 10)
	default:
		return quote(v.String())
	}
}

// quote leaves a word that starts with a letter plain, except those that YAML
// reads as something else.
func quote(s string) string {
	for i, c := range s {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789_-./", c)) {
			return strconv.Quote(s)
		}
	}
	switch strings.ToLower(s) {
	case "", "true", "false", "null", "yes", "no", "on", "off", "y", "n":
		return strconv.Quote(s)
	}
	return s
}
