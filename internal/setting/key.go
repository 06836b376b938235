package setting

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Key describes one setting.
type Key struct {
	Path   string   // dotted, e.g. optim.rate
	Type   string   // integer, number, boolean, text or duration
	Doc    string   // meaning and unit
	Source string   // the place in the paper that has the value; empty if there is none
	Values []string // the words it may take; empty: any
	Want   string   // range of a number in interval notation; empty: any
	Only   string   // key=value without which the key has no effect; empty: it always has an effect
	Was    string   // its value in runs that are older than the key; empty: there are no such runs
	Ends   string   // the key with the update at which something ends, unless this key has the value Was; empty: none
	Bits   string   // "same": it changes no result

	Tag reflect.StructTag // all tags of the field, with those that another package understands

	// Path of the field from the outermost struct, as reflect.Value.FieldByIndex takes it.
	index []int
}

// Section describes a group of keys.
type Section struct {
	Name, Doc string
}

// Join is the dotted path of a key under another; an empty path is the outermost.
func Join(path, key string) string { return strings.TrimPrefix(path+"."+key, ".") }

var durationType = reflect.TypeFor[time.Duration]()

// Walk calls key for every setting of the struct that settings points to, and section for every nested struct, in the
// order of the fields. Paths begin with prefix. The keys of a nested struct belong to a section of their own, without
// the prefix. Walk skips fields without a name.
func Walk(settings any, prefix string, key func(Key), section func(Section)) {
	walk(reflect.TypeOf(settings).Elem(), prefix, nil, key, section)
}

// walk is Walk for a struct at index of the outermost one.
func walk(t reflect.Type, prefix string, index []int, key func(Key), section func(Section)) {
	for i := range t.NumField() {
		f := t.Field(i)
		name := f.Tag.Get("yaml")
		if name == "" {
			continue
		}
		// A list of its own: keys keep it.
		at := append(append([]int(nil), index...), i)
		if f.Type.Kind() == reflect.Struct {
			section(Section{Name: name, Doc: f.Tag.Get("doc")})
			walk(f.Type, name+".", at, key, section)
			continue
		}
		key(Key{
			Path: prefix + name, Type: typeName(f.Type), Doc: f.Tag.Get("doc"), Source: f.Tag.Get("source"),
			Values: strings.Fields(f.Tag.Get("values")), Want: f.Tag.Get("want"),
			Only: f.Tag.Get("only"), Was: f.Tag.Get("was"), Ends: f.Tag.Get("ends"), Bits: f.Tag.Get("bits"),
			Tag: f.Tag, index: at,
		})
	}
}

// typeName is the Type of a key. Types that no key may have are named as Go does, for the message of Check.
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
	case t.Kind() == reflect.Int, t.Kind() == reflect.Uint64:
		return "integer"
	default:
		return t.String()
	}
}

// Check returns what is wrong with the description of a key: a type that is not supported, no doc, or a want that
// is no interval. It is a mistake of a program, not of a user.
func (k Key) Check() error {
	switch k.Type {
	case "integer", "number", "boolean", "text", "duration":
	default:
		return fmt.Errorf("key %s: its type is %s; a setting is an int, uint64, float64, bool, string or time.Duration",
			k.Path, k.Type)
	}
	if k.Doc == "" {
		return fmt.Errorf("key %s: the doc tag is missing: what does it mean, in which unit?", k.Path)
	}
	if k.Want != "" {
		if _, err := ParseInterval(k.Want); err != nil {
			return fmt.Errorf("key %s: the want tag: %w", k.Path, err)
		}
	}
	return nil
}

// Section is the part of the path before the dot; empty if there is no dot.
func (k Key) Section() string {
	name, _, found := strings.Cut(k.Path, ".")
	if !found {
		return ""
	}
	return name
}

// Name is the part of the path after the dot.
func (k Key) Name() string { return k.Path[strings.LastIndexByte(k.Path, '.')+1:] }

// Value is the value of the key in the struct that settings points to, in its Go type.
func (k Key) Value(settings any) any { return k.field(settings).Interface() }

// Set stores a value of the Go type of the key in the struct that settings points to.
func (k Key) Set(settings, value any) { k.field(settings).Set(reflect.ValueOf(value)) }

// field is the field of the key. settings must point to a struct of the type that Walk was given.
func (k Key) field(settings any) reflect.Value {
	return reflect.ValueOf(settings).Elem().FieldByIndex(k.index)
}

// Copy returns a pointer to a copy of the struct that settings points to. The copy is shallow: settings have no
// pointers.
func Copy(settings any) any {
	copied := reflect.New(reflect.TypeOf(settings).Elem())
	copied.Elem().Set(reflect.ValueOf(settings).Elem())
	return copied.Interface()
}

// Interval is the range of a number, e.g. (0,1]: from Low to High, without the ends that are open.
type Interval struct {
	Low, High         float64
	OpenLow, OpenHigh bool
}

// ParseInterval reads the notation of the want tag: [ and ] include an end, ( and ) exclude it. It does not check
// that low is below high.
func ParseInterval(text string) (Interval, error) {
	low, high, found := strings.Cut(text, ",")
	if !found || len(low) < 2 || len(high) < 2 {
		return Interval{}, fmt.Errorf("interval %q is not of the form [low,high]", text)
	}
	var r Interval
	var err error
	if r.Low, err = strconv.ParseFloat(low[1:], 64); err != nil {
		return Interval{}, fmt.Errorf("lower end of %q: %w", text, err)
	}
	if r.High, err = strconv.ParseFloat(high[:len(high)-1], 64); err != nil {
		return Interval{}, fmt.Errorf("upper end of %q: %w", text, err)
	}
	r.OpenLow, r.OpenHigh = low[0] == '(', strings.HasSuffix(high, ")")
	return r, nil
}

// contains reports whether v is in the range. NaN is in none.
func (r Interval) contains(v float64) bool {
	return (v > r.Low || v == r.Low && !r.OpenLow) && (v < r.High || v == r.High && !r.OpenHigh)
}

// String says the range in words: "at least 0 and below 1".
func (r Interval) String() string {
	low, high := "at least", "at most"
	if r.OpenLow {
		low = "above"
	}
	if r.OpenHigh {
		high = "below"
	}
	return low + " " + plainNumber(r.Low) + " and " + high + " " + plainNumber(r.High)
}

// plainNumber writes a number without exponent if it is below a billion.
func plainNumber(v float64) string {
	if v >= 1e-4 && v <= 1e9 || v == 0 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
