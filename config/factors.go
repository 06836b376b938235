package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/switchyard-ml/switchyard/internal/setting"
)

// Factor multiplies the learning rate of a group of parameters.
type Factor struct {
	Group string // name of a parameter, or the first part of names, up to a dot
	By    float64
}

// RateFactors reads optim.factors, "group=factor,group=factor", in the order of the text; an empty text has none.
// It returns an error for a group that is given twice, and for a factor that is not from 0 to maxFactor. Whether
// there are such parameters only the model knows. A factor of 0 leaves the parameters as they are.
func (o Optim) RateFactors() ([]Factor, error) {
	var list []Factor
	seen := map[string]bool{}
	for text := range strings.SplitSeq(o.Factors, ",") {
		if o.Factors == "" {
			break
		}
		group, by, found := strings.Cut(text, "=")
		group = strings.TrimSpace(group)
		v, err := strconv.ParseFloat(strings.TrimSpace(by), 64)
		switch {
		case !found || group == "":
			return nil, fmt.Errorf("%q is not of the form group=factor", text)
		case err != nil || !(v >= 0 && v <= maxFactor):
			return nil, fmt.Errorf("%s: the factor %q is not a number from 0 to %g", group, by, float64(maxFactor))
		case seen[group]:
			return nil, fmt.Errorf("%s is given twice", group)
		}
		seen[group] = true
		list = append(list, Factor{group, v})
	}
	return list, nil
}

// maxFactor bounds a factor on a learning rate: above, it is a slip.
const maxFactor = 1e6

// Covers reports whether a parameter belongs to the group: by its whole name, or by its first parts. "encoder"
// covers "encoder.W", but not "encoders.W".
func (f Factor) Covers(parameter string) bool {
	rest, ok := strings.CutPrefix(parameter, f.Group)
	return ok && (rest == "" || rest[0] == '.' || strings.HasSuffix(f.Group, "."))
}

// FactorOf is the factor of a parameter: that of the longest group that covers it, or 1.
func FactorOf(list []Factor, parameter string) float64 {
	longest, by := -1, 1.0
	for _, f := range list {
		if f.Covers(parameter) && len(f.Group) > longest {
			longest, by = len(f.Group), f.By
		}
	}
	return by
}

// faultOfFactors, faultOfClipFactor and faultOfOutlier are rules; see rule. The range of a key with the exception
// of 0 cannot be written as an interval.
func faultOfFactors(c *Config) (message, hint string) {
	if _, err := c.Optim.RateFactors(); err != nil {
		return err.Error(), "e.g. optim.factors=transition.Q=10,encoder=0.5"
	}
	return "", ""
}

func faultOfClipFactor(c *Config) (message, hint string) {
	if f := c.Optim.ClipFactor; f != 0 && f < 1 || math.IsNaN(f) {
		return fmt.Sprintf("%g is below 1: every gradient would be cut, and the running norm with it", f),
			"e.g. 3, or 0 for no such limit"
	}
	return "", ""
}

func faultOfOutlier(c *Config) (message, hint string) {
	if f := c.Optim.Outlier; f != 0 && f <= 1 || math.IsNaN(f) {
		return fmt.Sprintf("%g is not above 1: usual updates would be left out", f), "e.g. 100, or 0 to leave out none"
	}
	return "", ""
}

// surveyed is the number of updates before the first that optim.outlier may leave out, as Adam counts them.
const surveyed = 100

// ignoredOutlier is the fault of an optim.outlier without effect. Replicas begin each round with a new running norm.
func (c *Config) ignoredOutlier() []setting.Fault {
	if c.Optim.Outlier == 0 || c.Train.Method != "diloco" || c.Train.LocalSteps > surveyed {
		return nil
	}
	return []setting.Fault{setting.Faultf([]string{"optim.outlier", "train.local_steps"},
		fmt.Sprintf("leave it out, or set train.local_steps above %d", surveyed),
		"it has no effect with train.local_steps=%d: the running norm restarts in each round, and the first %d updates are "+
			"never left out",
		c.Train.LocalSteps, surveyed)}
}
