package setting

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// How values are read and written as texts. A fault and its hint are parts of a sentence, which package config puts
// together with the place where the text stands.

// Assign parses text as the value of the key and stores it in the struct that settings points to. It returns the
// fault and the hint; both are empty on success. After a fault the struct is as it was.
func (k Key) Assign(settings any, text string) (fault, hint string) {
	return k.assign(k.field(settings), text)
}

// Append is Assign for one more item of a key that is a list. The range and the words of the key are those of an item.
func (k Key) Append(settings any, text string) (fault, hint string) {
	list := k.field(settings)
	item := reflect.New(list.Type().Elem()).Elem()
	k.Type = typeName(item.Type())
	if fault, hint = k.assign(item, text); fault == "" {
		list.Set(reflect.Append(list, item))
	}
	return fault, hint
}

// assign is Assign for a field, or for an item of one.
func (k Key) assign(field reflect.Value, text string) (fault, hint string) {
	switch k.Type {
	case "text":
		return k.assignText(field, text)
	case "boolean":
		return k.assignBool(field, text)
	case "duration":
		return k.assignDuration(field, text)
	case "number":
		return k.assignNumber(field, text)
	default:
		return k.assignInteger(field, text)
	}
}

// assignText stores a text; if the key has words, only one of them. A file in YAML has no other bytes than those of
// UTF-8: another text would be read back as a different one.
func (k Key) assignText(field reflect.Value, text string) (fault, hint string) {
	if !utf8.ValidString(text) {
		return fmt.Sprintf("%q is not in UTF-8", text), "rename the file, if it is the name of one, or quote a glob"
	}
	if len(k.Values) > 0 && !slices.Contains(k.Values, text) {
		hint = "must be " + strings.Join(k.Values, " or ")
		if near := Nearest(text, k.Values); near != "" {
			hint = fmt.Sprintf("did you mean %s? (%s)", near, hint)
		}
		return fmt.Sprintf("unknown value %q", text), hint
	}
	field.SetString(text)
	return "", ""
}

// assignBool stores true or false, and takes no other spelling.
func (k Key) assignBool(field reflect.Value, text string) (fault, hint string) {
	switch text {
	case "true", "false":
		field.SetBool(text == "true")
		return "", ""
	}
	return fmt.Sprintf("%q is neither true nor false", text), ""
}

// assignDuration stores a duration as time.ParseDuration reads it. Its range is in seconds.
func (k Key) assignDuration(field reflect.Value, text string) (fault, hint string) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Sprintf("%q is not a duration", text), "write a number with its unit, e.g. 500ms, 5s or 2m"
	}
	if fault := k.outside(d.Seconds(), text, " seconds"); fault != "" {
		return fault, ""
	}
	field.SetInt(int64(d))
	return "", ""
}

// assignNumber stores a finite number within its range.
func (k Key) assignNumber(field reflect.Value, text string) (fault, hint string) {
	v, err := strconv.ParseFloat(ungroup(text), 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Sprintf("%q is not a finite number", text), ""
	}
	if fault := k.outside(v, text, ""); fault != "" {
		return fault, ""
	}
	field.SetFloat(v + 0) // -0 becomes 0, so that one value has one text
	return "", ""
}

// assignInteger stores a whole number within its range. An int is kept within 32 bits, so that a configuration
// means the same on every machine; a uint64 may be a seed, of which every bit counts.
func (k Key) assignInteger(field reflect.Value, text string) (fault, hint string) {
	// The sign is read apart, because parseUint knows none.
	v, ok := parseUint(strings.TrimPrefix(text, "-"))
	n, usual := float64(v), ""
	if strings.HasPrefix(text, "-") {
		n = -n
	}
	if field.CanUint() {
		ok, usual = ok && n >= 0, " from 0 to 18446744073709551615"
	}
	if !ok {
		return fmt.Sprintf("%q is not a whole number%s", text, k.span(usual)), ""
	}
	fault = k.outside(n, text, "")
	switch {
	case fault != "":
	case field.CanUint():
		field.SetUint(v)
	case v > math.MaxInt32:
		fault = text + " does not fit into 32 bits"
	default:
		field.SetInt(int64(n))
	}
	return fault, ""
}

// span says the range of a whole number; of a key that tells none, it is usual.
func (k Key) span(usual string) string {
	if r, err := ParseInterval(k.Want); err == nil {
		return " of " + r.String()
	}
	return usual
}

// outside returns the message that v is not in the range of k; empty if v is in the range.
func (k Key) outside(v float64, text, unit string) string {
	if k.Want == "" {
		return ""
	}
	r, err := ParseInterval(k.Want)
	if err != nil || !r.contains(v) {
		return fmt.Sprintf("%s is out of range: it must be %s%s", text, r, unit)
	}
	return ""
}

// parseUint reads a whole number: decimal digits, which may be grouped (1_000), 0x and 0o forms, and floating-point
// forms of whole numbers (1e5).
func parseUint(text string) (uint64, bool) {
	plain := ungroup(text)
	base := 10
	if len(plain) > 2 && plain[0] == '0' && strings.IndexByte("xXoO", plain[1]) >= 0 {
		base = 0
	}
	if v, err := strconv.ParseUint(plain, base, 64); err == nil {
		return v, true
	}
	// Up to 2^53 a float64 has every whole number, so that 1e5 is exact.
	f, err := strconv.ParseFloat(plain, 64)
	if err != nil || f < 0 || f > 1<<53 || f != math.Trunc(f) {
		return 0, false
	}
	return uint64(f), true
}

// ungroup removes underscores that stand between two digits.
func ungroup(text string) string {
	digit := func(i int) bool { return i >= 0 && i < len(text) && text[i] >= '0' && text[i] <= '9' }
	var b strings.Builder
	for i := range len(text) {
		if text[i] == '_' && digit(i-1) && digit(i+1) {
			continue
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// Format writes the value of the key in the struct that settings points to. Assign and YAML read the same value
// back, and equal values have equal texts.
func (k Key) Format(settings any) string {
	v := k.field(settings)
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
		return Quote(v.String())
	}
}

// Quote quotes a word unless it begins with a letter and YAML reads it as text: the words that some versions of
// YAML take for booleans or null are quoted.
func Quote(s string) string {
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
