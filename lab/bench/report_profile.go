package bench

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// told is the part of a profile, in per cent, that the table of functions accounts for at least.
const told = 95

// areas name what a function belongs to, by a part of its name; the first that fits counts.
var areas = []struct{ part, area string }{
	{"kernel.tile", "matrix products"},
	{"kernel.pack", "packing of matrices"},
	{"kernel.Peak", "measurement of the peak between steps"},
	{"kernel.peak", "measurement of the peak between steps"},
	{"autodiff/kernel.", "other kernels"},
	{"/autodiff.", "autodiff"},
	{"/model", "model"},
	{"/envs/", "simulators"},
	{"/worker.", "worker"},
	{"/internal/vector.", "sum of the shards"},
	{"runtime.", "Go runtime"},
}

// area is what a function belongs to; other if it is nothing of the list.
func area(function string) string {
	for _, a := range areas {
		if strings.Contains(function, a.part) {
			return a.area
		}
	}
	return "other"
}

// writeProfile lists where the time of a step goes, by area and by function, the most expensive first, until told
// per cent are accounted for. Without functions it writes nothing; functions without time are an error.
func writeProfile(b *strings.Builder, functions []record) error {
	if len(functions) == 0 {
		return nil
	}
	slices.SortStableFunc(functions, func(x, y record) int { return int(1e3*y.Milliseconds) - int(1e3*x.Milliseconds) })
	whole, sums := 0.0, map[string]float64{}
	for _, f := range functions {
		whole += f.Milliseconds
		sums[area(f.Function)] += f.Milliseconds
	}
	if whole <= 0 {
		return errors.New("the profile holds no time: measure more steps")
	}
	fmt.Fprintf(b, "\n## Where a maze step spends its time\n\n%.0f ms of processor time by "+
		"area:\n\n| area | of the time |\n|---|---|\n", whole)
	names := make([]string, 0, len(sums))
	for name := range sums {
		names = append(names, name)
	}
	slices.SortFunc(names, func(x, y string) int {
		if sums[x] != sums[y] {
			return int(1e3*sums[y]) - int(1e3*sums[x])
		}
		return strings.Compare(x, y)
	})
	for _, name := range names {
		fmt.Fprintf(b, "| %s | %.1f %% |\n", name, 100*sums[name]/whole)
	}
	fmt.Fprintf(b, "\nBy function, down to a sum of %d %%:\n\n| function | of the time | sum |\n|---|---|---|\n",
		told)
	sum, rows := 0.0, 0
	for _, f := range functions {
		if 100*sum >= told*whole {
			break
		}
		sum += f.Milliseconds
		rows++
		fmt.Fprintf(b, "| `%s` | %.1f %% | %.1f %% |\n", short(f.Function), 100*f.Milliseconds/whole, 100*sum/whole)
	}
	fmt.Fprintf(b, "\nMore functions (%d): %.1f %% in total.\n", len(functions)-rows, 100*(1-sum/whole))
	return nil
}

// short is a function's name without the path of its module.
func short(function string) string {
	return function[strings.LastIndex(function, "/")+1:]
}
