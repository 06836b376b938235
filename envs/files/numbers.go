package files

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// parseNumber reads a number, or true or false as 1 or 0. The usual texts for a missing value give NaN. commas says
// that decimals may be written with a comma. A point and a comma in one number, and signs for thousands, are
// refused. inf is an infinity, which callers refuse.
func parseNumber(text string, commas bool) (float64, error) {
	if missingMark(text) {
		return math.NaN(), nil
	}
	switch strings.ToLower(text) {
	case "", "na", "n/a", "nan", "null", "none", "?":
		return math.NaN(), nil
	case "true":
		return 1, nil
	case "false":
		return 0, nil
	}
	v, err := strconv.ParseFloat(pointed(text, commas), 64)
	if errors.Is(err, strconv.ErrRange) {
		err = nil // an infinity; it is refused later, with its name
	}
	return v, err
}

// pointed writes the decimal comma of a number, which it may have if commas is set, as a point.
func pointed(text string, commas bool) string {
	if commas && strings.Count(text, ",") == 1 && !strings.Contains(text, ".") {
		return strings.Replace(text, ",", ".", 1)
	}
	return text
}

// floating reports whether a number is written as one that was rounded: with a point or an exponent.
func floating(text string) bool { return strings.ContainsAny(text, ".,eE") }

// missingMark reports whether a cell holds one of the signs for a missing value that statistics programs, offices and
// spreadsheets write, and that are no words. Reading them is noted.
func missingMark(text string) bool {
	switch strings.ToUpper(text) {
	case ".", "..", "...", "-", "--", "---", "–", "—", "*", "N.A.", "<NA>", "#N/A", "#NA",
		"#VALUE!", "#DIV/0!", "#NUM!", "#REF!":
		return true
	}
	return false
}
