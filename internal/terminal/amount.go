package terminal

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Short writes a duration in a short form: 8s, 4m05s, 3h07m, 2d04h. It is rounded to seconds; from an hour on
// smaller units are cut off.
func Short(d time.Duration) string {
	s := int64(d.Round(time.Second) / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	case s < 86400:
		return fmt.Sprintf("%dh%02dm", s/3600, s/60%60)
	default:
		return fmt.Sprintf("%dd%02dh", s/86400, s/3600%24)
	}
}

// Group writes a whole number with commas: 20,000. The number is not negative, and fits an int64.
func Group[T ~int | ~int64 | ~uint64](n T) string {
	s := strconv.FormatInt(int64(n), 10)
	// Digits before the first comma: one to three.
	start := len(s) % 3
	if start == 0 {
		start = 3
	}
	var b strings.Builder
	b.WriteString(s[:start])
	for i := start; i < len(s); i += 3 {
		b.WriteString("," + s[i:i+3])
	}
	return b.String()
}

// Bytes writes a number of bytes with a binary unit: 512 B, 1.5 MiB. The largest unit is TiB.
func Bytes(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	v, unit := float64(n)/1024, "KiB"
	for _, next := range []string{"MiB", "GiB", "TiB"} {
		if v < 1024 {
			break
		}
		v, unit = v/1024, next
	}
	return fmt.Sprintf("%.1f %s", v, unit)
}

// Count writes a number of things: 1 worker, 2 workers. The plural of thing has an s.
func Count(n int, thing string) string { return strconv.Itoa(n) + " " + Noun(n, thing) }

// Noun is the noun for a number of things: worker, workers. The plural of thing has an s.
func Noun(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return thing
}
