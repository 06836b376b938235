package eval

import (
	_ "embed" // for the published figures
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// published holds what papers print, a row for each number: of which protocol and environment, which row of the paper,
// where on the axis of the protocol, and where it was printed.
//
//go:embed published.csv
var published string

// Published is a row of a table, or a curve, that a paper prints. The caller owns its lists.
type Published struct {
	Name, Key string    // Name is empty where the paper has one row alone
	Model     string    // the model of package paper that the row is of; empty: none
	At        []float64 // steps ahead, images or seconds of a step, by the protocol; 0 where it has no such axis
	Values    []float64 // at At
}

// Paper returns what is published for a protocol in an environment, in the order of the paper; nil if nothing is.
func Paper(protocol, environment string) []Published {
	var list []Published
	for _, row := range compiledIn(published) {
		if row[0] != protocol || row[1] != environment {
			continue
		}
		if len(list) == 0 || list[len(list)-1].Key != row[3] {
			list = append(list, Published{Name: row[2], Key: row[3], Model: row[4]})
		}
		p, v := &list[len(list)-1], parsed(row[5:7])
		p.At, p.Values = append(p.At, v[0]), append(p.Values, v[1])
	}
	return list
}

// Value is the figure at a place of the axis, NaN where there is none.
func (p Published) Value(at float64) float64 {
	if i := slices.Index(p.At, at); i >= 0 {
		return p.Values[i]
	}
	return math.NaN()
}

// compiledIn returns the rows of a CSV file that is part of the program, without its header. One that does not parse
// is a fault of the program, and panics; tests read all. Each call parses anew: the caller owns the result.
func compiledIn(text string) [][]string {
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		panic(fmt.Sprintf("eval: a CSV file of the program: %v", err))
	}
	return rows[1:]
}

// parsed are the numbers in cells of such a file.
func parsed(cells []string) []float64 {
	list := make([]float64, len(cells))
	for i, text := range cells {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			panic(fmt.Sprintf("eval: a CSV file of the program: %v", err))
		}
		list[i] = v
	}
	return list
}
