package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// assign parses text as the value of k and stores it in c. What comes back is the
// fault and the hint, both empty on success.
func (k Key) assign(c *Config, text string) (fault, hint string) {
	switch k.Type {
	case "text":
		return k.assignText(c, text)
	case "boolean":
		return k.assignBool(c, text)
	case "duration":
		return k.assignDuration(c, text)
	case "number":
		return k.assignNumber(c, text)
	default:
		return k.assignInteger(c, text)
	}
}

func (k Key) assignText(c *Config, text string) (fault, hint string) {
	if len(k.Values) > 0 && !slices.Contains(k.Values, text) {
		hint = "it takes " + strings.Join(k.Values, " or ")
		if near := Nearest(text, k.Values); near != "" {
			hint = fmt.Sprintf("did you mean %s? (%s)", near, hint)
		}
		return fmt.Sprintf("unknown value %q", text), hint
	}
	k.value(c).SetString(text)
	return "", ""
}

func (k Key) assignBool(c *Config, text string) (fault, hint string) {
	switch text {
	case "true", "false":
		k.value(c).SetBool(text == "true")
		return "", ""
	}
	return fmt.Sprintf("%q is neither true nor false", text), ""
}

func (k Key) assignDuration(c *Config, text string) (fault, hint string) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Sprintf("%q is not a duration", text), "write a number with its unit, e.g. 500ms, 5s or 2m"
	}
	if fault := k.outside(d.Seconds(), text, " seconds"); fault != "" {
		return fault, ""
	}
	k.value(c).SetInt(int64(d))
	return "", ""
}

func (k Key) assignNumber(c *Config, text string) (fault, hint string) {
	v, err := strconv.ParseFloat(ungroup(text), 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Sprintf("%q is not a finite number", text), ""
	}
	if fault := k.outside(v, text, ""); fault != "" {
		return fault, ""
	}
	k.value(c).SetFloat(v + 0) // -0 becomes 0: one value, one text
	return "", ""
}

func (k Key) assignInteger(c *Config, text string) (fault, hint string) {
	field := k.value(c)
	if field.CanUint() {
		v, ok := parseUint(text)
		if !ok {
			return fmt.Sprintf("%q is not a whole number from 0 to 18446744073709551615", text), ""
		}
		if fault := k.outside(float64(v), text, ""); fault != "" {
			return fault, ""
		}
		field.SetUint(v)
		return "", ""
	}
	negative := strings.HasPrefix(text, "-")
	v, ok := parseUint(strings.TrimPrefix(text, "-"))
	if !ok || v > math.MaxInt32 {
		return fmt.Sprintf("%q is not a whole number", text), ""
	}
	n := int64(v)
	if negative {
		n = -n
	}
	if fault := k.outside(float64(n), text, ""); fault != "" {
		return fault, ""
	}
	field.SetInt(n)
	return "", ""
}

// outside says that v is not in the range of k; empty if it is.
func (k Key) outside(v float64, text, unit string) string {
	if k.Want == "" {
		return ""
	}
	r, err := parseInterval(k.Want)
	if err != nil || !r.contains(v) {
		return fmt.Sprintf("%s is out of range: it must be %s%s", text, r, unit)
	}
	return ""
}

// parseUint reads a whole number: decimal digits that may be grouped (1_000),
// 0x and 0o forms, and floating forms of whole numbers (1e5).
func parseUint(text string) (uint64, bool) {
	plain := ungroup(text)
	base := 10
	if len(plain) > 2 && plain[0] == '0' && strings.IndexByte("xXoO", plain[1]) >= 0 {
		base = 0
	}
	if v, err := strconv.ParseUint(plain, base, 64); err == nil {
		return v, true
	}
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
