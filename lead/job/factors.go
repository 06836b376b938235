package job

import (
	"errors"
	"slices"
	"strings"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/internal/setting"
	"github.com/switchyard-ml/switchyard/internal/vector"
)

// ErrGroup is returned for an optim.factors that names no parameter of the model.
var ErrGroup = errors.New("the model has no such parameters")

// groups are the parameters with a learning rate of their own, neighbours of the same factor in one group.
// Parameters without a factor, or with the factor 1, are in none. The groups are in the order of the layout and do
// not overlap.
func groups(c config.Config, layout []coordinator.Tensor) []vector.Group {
	factors, _ := c.Optim.RateFactors() // checkFactors has read them
	var list []vector.Group
	for _, t := range layout {
		by := config.FactorOf(factors, t.Name)
		if by == 1 || t.Size == 0 {
			continue
		}
		if n := len(list); n > 0 && list[n-1].To == t.Offset && list[n-1].Factor == by {
			list[n-1].To += t.Size
			continue
		}
		list = append(list, vector.Group{From: t.Offset, To: t.Offset + t.Size, Factor: by})
	}
	return list
}

// checkFactors returns an error if a group of optim.factors covers no parameter. It is a usage error, with the
// groups that there are.
func checkFactors(c config.Config, layout []coordinator.Tensor) error {
	factors, err := c.Optim.RateFactors()
	if err != nil {
		return config.Usagef("optim.factors: %w", err)
	}
	for _, f := range factors {
		if slices.ContainsFunc(layout, func(t coordinator.Tensor) bool { return f.Covers(t.Name) }) {
			continue
		}
		err := config.Usagef("optim.factors: %w: %s", ErrGroup, f.Group)
		known := groupNames(layout)
		if near := setting.Nearest(f.Group, known); near != "" {
			return config.Hint(err, "did you mean %s?", near)
		}
		top := slices.DeleteFunc(known, func(name string) bool { return strings.Contains(name, ".") })
		return config.Hint(err, "there are %s, and parts of them, e.g. %s", strings.Join(top, ", "), layout[0].Name)
	}
	return nil
}

// groupNames are all that covers a parameter: names, and their first parts up to a dot, each once. "a.b.c" gives a,
// a.b and a.b.c.
func groupNames(layout []coordinator.Tensor) []string {
	var list []string
	for _, t := range layout {
		for i := 0; i <= len(t.Name); i++ {
			if (i == len(t.Name) || t.Name[i] == '.') && !slices.Contains(list, t.Name[:i]) {
				list = append(list, t.Name[:i])
			}
		}
	}
	return list
}
