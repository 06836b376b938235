package files

import (
	"fmt"
	"math"
	"slices"

	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/rng"
)

// Part is a part of a split, with the numbers that files use. Unassigned is an episode of which the files say
// nothing.
type Part int8

// The parts of a split.
const (
	Unassigned Part = iota - 1
	Training
	Validation
	Test
)

// String is the name of the part in CSV files.
func (p Part) String() string {
	switch p {
	case Training:
		return "training"
	case Validation:
		return "validation"
	case Test:
		return "test"
	}
	return ""
}

// parsePart reads a part by name or number. It also knows the usual short names.
func parsePart(s string) (Part, bool) {
	switch s {
	case "0", "train", "training":
		return Training, true
	case "1", "val", "valid", "validation", "dev":
		return Validation, true
	case "2", "test", "testing":
		return Test, true
	}
	return Unassigned, false
}

// Split has the episodes of each part by index, in ascending order. No episode is in two parts.
type Split struct {
	Training   []int `json:"training"`
	Validation []int `json:"validation"`
	Test       []int `json:"test"`
}

// Of returns the episodes of a part.
func (s Split) Of(p Part) []int {
	switch p {
	case Training:
		return s.Training
	case Validation:
		return s.Validation
	case Test:
		return s.Test
	}
	return nil
}

// Fractions are the shares of the episodes for validation and test; the others are for training.
type Fractions struct {
	Validation float64 // default 0.1
	Test       float64 // default 0.1
}

// splitSample separates the random stream of splits from those of training, which have the same key.
const splitSample = 2

// Split divides the episodes. If the files give every episode a part, that split is used. Otherwise the parts are
// drawn; they are a function of the seed and the number of episodes alone. Each part with a positive share gets at
// least one episode. An error that is not about the shares is an *Error: some episodes have no part, none is for
// training, or there are too few.
func (d *Dataset) Split(seed uint64, f Fractions) (Split, error) {
	if s, ok, err := d.givenSplit(); ok || err != nil {
		return s, err
	}
	n := len(d.Episodes)
	if !(f.Validation >= 0 && f.Test >= 0 && f.Validation+f.Test < 1) {
		return Split{}, fmt.Errorf("files: split into %v validation and %v test: want shares that leave some for training",
			f.Validation, f.Test)
	}
	validation, test := share(n, f.Validation), share(n, f.Test)
	if validation+test >= n {
		return Split{}, faultf("", "hold out the last steps of each recording: env.split=time",
			"%s cannot be divided into training, validation and test by episode", terminal.Count(n, "episode"))
	}
	part := make([]Part, n)
	// The first of a permutation are held out: validation, then test.
	order := permutation(n, rng.New(seed, rng.Batch).At(0, 0, splitSample))
	for i, e := range order[:validation+test] {
		part[e] = Validation
		if i >= validation {
			part[e] = Test
		}
	}
	return collect(part), nil
}

// givenSplit returns the split of the files; false if they give none.
func (d *Dataset) givenSplit() (Split, bool, error) {
	part := make([]Part, len(d.Episodes))
	given := 0
	for i := range d.Episodes {
		part[i] = d.Episodes[i].Part
		if part[i] != Unassigned {
			given++
		}
	}
	if given == 0 {
		return Split{}, false, nil
	}
	// A split for some episodes says nothing about the others.
	if given < len(part) {
		return Split{}, false, faultf("split", "give it for all or for none", "%d of %d episodes have no part",
			len(part)-given, len(part))
	}
	s := collect(part)
	if len(s.Training) == 0 {
		return Split{}, false, faultf("split", "use 0 for training, 1 for validation and 2 for test",
			"no episode is for training")
	}
	return s, true, nil
}

// collect lists the episodes of each part. Those without one are for training.
func collect(part []Part) Split {
	var s Split
	for i, p := range part {
		switch p {
		case Training, Unassigned:
			s.Training = append(s.Training, i)
		case Validation:
			s.Validation = append(s.Validation, i)
		case Test:
			s.Test = append(s.Test, i)
		}
	}
	return s
}

// share is the number of episodes for a fraction; at least one if the fraction is positive.
func share(n int, fraction float64) int {
	if fraction == 0 {
		return 0
	}
	return max(1, int(math.Round(float64(n)*fraction)))
}

// permutation shuffles 0 … n−1 (Fisher and Yates). All orders have the same probability.
func permutation(n int, s rng.Stream) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	for i := n - 1; i > 0; i-- {
		j := s.IntN(i + 1)
		order[i], order[j] = order[j], order[i]
	}
	return order
}

// SplitByTime cuts each recording into a first part for training, a second one for validation and a last one for
// test. A recording that is too short for that is for training. The result has the parts in place of the recordings,
// and shares their memory. Each part has at least two steps, and training at least as many as validation. Files that
// give a split are refused.
func (d *Dataset) SplitByTime(f Fractions) (*Dataset, error) {
	if !(f.Validation >= 0 && f.Test >= 0 && f.Validation+f.Test < 1) {
		return nil, fmt.Errorf("files: split into %v validation and %v test: want shares that leave some for training",
			f.Validation, f.Test)
	}
	divided := *d
	divided.Episodes = nil
	whole := 0
	for i := range d.Episodes {
		e := &d.Episodes[i]
		if e.Part != Unassigned {
			return nil, faultf("split", "leave the parts out of the files, or do not split by time",
				"the files give a split already")
		}
		validation, test := stepsOf(e.T, f.Validation), stepsOf(e.T, f.Test)
		// Training comes first in time, so that nothing is predicted from what follows it.
		training := e.T - validation - test
		if training < validation || training < minSteps {
			p := *e
			p.Part = Training
			divided.Episodes = append(divided.Episodes, p)
			whole++
			continue
		}
		first := 0
		for _, part := range []struct {
			part Part
			n    int
		}{{Training, training}, {Validation, validation}, {Test, test}} {
			if part.n == 0 {
				continue
			}
			p := e.slice(d.Spec, first, first+part.n)
			p.Part, p.Continues = part.part, first > 0
			if first > 0 {
				p.Controls, p.Before = slices.Clone(p.Controls), slices.Clone(p.Controls[:d.Spec.Control])
				clear(p.Controls[:d.Spec.Control]) // it acted before the part
			}
			first += part.n
			divided.Episodes = append(divided.Episodes, p)
		}
	}
	if whole == len(d.Episodes) {
		return nil, faultf("", "record more, or hold out less (env.validation, env.test)",
			"%s cannot be divided into training, validation and test", terminal.Count(d.Steps(), "step"))
	}
	return &divided, nil
}

// stepsOf is the number of steps of a share; at least two if the share is positive.
func stepsOf(n int, fraction float64) int {
	if fraction == 0 {
		return 0
	}
	return max(minSteps, int(math.Round(float64(n)*fraction)))
}
