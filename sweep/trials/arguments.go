package trials

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/internal/setting"
)

// FromArguments writes the sweep file of a command line in the manner of Hydra: a preset or a configuration file,
// and key=value for a fixed key, key=a,b or key=choice(a,b) for a list of values, key=range(first,end) or
// range(first,end,step) for whole numbers. A value in quotation marks may have commas, as env.id='"store,item"' in a
// shell. All combinations are tried. args has at least one element. An error is
// a config.ErrUsage with a hint. The text has a line for each argument; Parse reads it like any other sweep file,
// and finds the faults in keys and values.
func FromArguments(args []string) ([]byte, error) {
	base := "preset"
	if IsFile(args[0]) {
		base = "config"
	}
	if strings.Contains(args[0], "=") {
		return nil, config.Hint(config.Usagef("%s: the preset, or a file, comes first", args[0]),
			"e.g. sweep -m fhn/smoke %s", args[0])
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\nmethod: grid\nparameters:\n", base, quoted(args[0]))
	for _, a := range args[1:] {
		key, text, found := strings.Cut(a, "=")
		if !found || key == "" || text == "" {
			return nil, config.Hint(config.Usagef("%q: expected key=value,value", a), "e.g. optim.rate=1e-3,1e-2")
		}
		values, err := valuesOf(text)
		if err != nil {
			return nil, config.Hint(config.Usagef("%s: %w", a, err), "e.g. seed=range(0,3), or seed=0,1,2")
		}
		if len(values) == 1 {
			fmt.Fprintf(&b, "  %s: {value: %s}\n", key, quoted(values[0]))
			continue
		}
		for i := range values {
			values[i] = quoted(values[i])
		}
		fmt.Fprintf(&b, "  %s: {values: [%s]}\n", key, strings.Join(values, ", "))
	}
	return []byte(b.String()), nil
}

// IsFile reports whether the first argument of FromArguments is a file, and no preset.
func IsFile(base string) bool {
	return strings.HasSuffix(base, ".yaml") || strings.HasSuffix(base, ".yml")
}

// quoted is a value that YAML reads as the same text; a number stands as it is.
func quoted(text string) string {
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		return text
	}
	return setting.Quote(text)
}

// maxRange is the most values of a range.
const maxRange = 10_000

// valuesOf are the values that a text lists: what stands between commas (divided), or the numbers of a range, whose end
// is left out, as in Python. A range with one number begins at 0; its step may be negative. A range that is empty, or
// longer than maxRange, is an error.
func valuesOf(text string) ([]string, error) {
	inside, isRange := call(text, "range")
	if choices, ok := call(text, "choice"); ok {
		return divided(choices)
	}
	if !isRange {
		return divided(text)
	}
	ends := []int{0, 0, 1}
	words := trimmed(strings.Split(inside, ","))
	if len(words) < 1 || len(words) > 3 {
		return nil, fmt.Errorf("a range has first, end and step")
	}
	for i, w := range words {
		v, err := strconv.Atoi(w)
		if err != nil {
			return nil, fmt.Errorf("%q is no whole number", w)
		}
		ends[i] = v
	}
	if len(words) == 1 {
		ends[0], ends[1] = 0, ends[0]
	}
	first, end, step := ends[0], ends[1], ends[2]
	if steps := (float64(end) - float64(first)) / float64(step); !(steps > 0 && steps <= maxRange) {
		return nil, fmt.Errorf("the range %s has no values, or too many", inside)
	}
	var list []string
	// In either direction, and without the end, whether or not the step meets it; beyond the largest number is none.
	for v := first; v != end && (v < end) == (step > 0); v += step {
		if list = append(list, strconv.Itoa(v)); (v+step > v) != (step > 0) {
			break
		}
	}
	return list, nil
}

// divided are the values between commas, without the spaces around them. One in quotation marks, " or ', is as it is
// between them, also if it is empty. A comma behind the last value is passed by.
func divided(text string) ([]string, error) {
	var list []string
	for rest := text; ; {
		rest = strings.TrimLeft(rest, " ")
		value, more, found := strings.Cut(rest, ",")
		if quote := rest[:min(1, len(rest))]; quote == `"` || quote == "'" {
			inside, behind, closed := strings.Cut(rest[1:], quote)
			if behind = strings.TrimLeft(behind, " "); !closed || behind != "" && behind[0] != ',' {
				return nil, fmt.Errorf("a value in quotation marks ends with one, and only a comma may follow it")
			}
			list = append(list, inside)
			_, more, found = strings.Cut(behind, ",")
		} else if value = strings.TrimSpace(value); value != "" {
			list = append(list, value)
		} else if found || list == nil {
			return nil, fmt.Errorf(`a value is missing; "" is an empty one`)
		}
		if rest = more; !found {
			return list, nil
		}
	}
}

// call is what stands in name(…), and whether the text has that form.
func call(text, name string) (string, bool) {
	rest, ok := strings.CutPrefix(text, name+"(")
	return strings.TrimSuffix(rest, ")"), ok && strings.HasSuffix(rest, ")")
}

// trimmed takes the spaces off the words, in place.
func trimmed(words []string) []string {
	for i := range words {
		words[i] = strings.TrimSpace(words[i])
	}
	return words
}
