package config

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Key describes one key of the tree.
type Key struct {
	Path   string   // dotted, e.g. optim.rate
	Type   string   // integer, number, boolean, text or duration
	Doc    string   // meaning and unit
	Source string   // where the paper's value stands; empty if nowhere
	Values []string // the words it may take; empty: any
	Want   string   // range of a number in interval notation; empty: any

	index []int
}

// Section describes a group of keys.
type Section struct {
	Name, Doc string
}

// presetKey names the base of a file; it can be written nowhere else.
const presetKey = "preset"

var durationType = reflect.TypeFor[time.Duration]()

// Keys lists every key in the order of the tree.
func Keys() []Key {
	var keys []Key
	walkKeys(reflect.TypeFor[Config](), "", nil, func(k Key) { keys = append(keys, k) }, func(Section) {})
	return keys
}

// Sections lists the groups of keys in the order of the tree.
func Sections() []Section {
	var sections []Section
	walkKeys(reflect.TypeFor[Config](), "", nil, func(Key) {}, func(s Section) { sections = append(sections, s) })
	return sections
}

func walkKeys(t reflect.Type, prefix string, index []int, key func(Key), section func(Section)) {
	for i := range t.NumField() {
		f := t.Field(i)
		at := append(append([]int(nil), index...), i)
		name := prefix + f.Tag.Get("yaml")
		if f.Type.Kind() == reflect.Struct {
			section(Section{Name: name, Doc: f.Tag.Get("doc")})
			walkKeys(f.Type, name+".", at, key, section)
			continue
		}
		key(Key{
			Path: name, Type: typeName(f.Type), Doc: f.Tag.Get("doc"), Source: f.Tag.Get("source"),
			Values: strings.Fields(f.Tag.Get("values")), Want: f.Tag.Get("want"), index: at,
		})
	}
}

func typeName(t reflect.Type) string {
	switch {
	case t == durationType:
		return "duration"
	case t.Kind() == reflect.Bool:
		return "boolean"
	case t.Kind() == reflect.String:
		return "text"
	case t.Kind() == reflect.Float64:
		return "number"
	default:
		return "integer"
	}
}

func (k Key) section() string {
	name, _, found := strings.Cut(k.Path, ".")
	if !found {
		return ""
	}
	return name
}

func (k Key) name() string { return k.Path[strings.LastIndexByte(k.Path, '.')+1:] }

func (k Key) value(c *Config) reflect.Value {
	return reflect.ValueOf(c).Elem().FieldByIndex(k.index)
}

// An interval is the range of a number, e.g. (0,1].
type interval struct {
	low, high         float64
	openLow, openHigh bool
}

func parseInterval(text string) (interval, error) {
	low, high, found := strings.Cut(text, ",")
	if !found || len(low) < 2 || len(high) < 2 {
		return interval{}, fmt.Errorf("interval %q is not of the form [low,high]", text)
	}
	var r interval
	var err error
	if r.low, err = strconv.ParseFloat(low[1:], 64); err != nil {
		return interval{}, fmt.Errorf("lower end of %q: %w", text, err)
	}
	if r.high, err = strconv.ParseFloat(high[:len(high)-1], 64); err != nil {
		return interval{}, fmt.Errorf("upper end of %q: %w", text, err)
	}
	r.openLow, r.openHigh = low[0] == '(', strings.HasSuffix(high, ")")
	return r, nil
}

func (r interval) contains(v float64) bool {
	return (v > r.low || v == r.low && !r.openLow) && (v < r.high || v == r.high && !r.openHigh)
}

func (r interval) String() string {
	low, high := "at least", "at most"
	if r.openLow {
		low = "above"
	}
	if r.openHigh {
		high = "below"
	}
	return low + " " + plainNumber(r.low) + " and " + high + " " + plainNumber(r.high)
}

// plainNumber writes a number as people do: no exponent below a billion.
func plainNumber(v float64) string {
	if v >= 1e-4 && v <= 1e9 || v == 0 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
