package terminal

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Progress is the content of the status line of a run.
type Progress struct {
	Step, Steps  uint64
	Objective    float64 // −loss
	Terms        []Term  // of the loss; none: the objective is not known yet
	Best         float64 // best objective of a validation; meaningless if BestStep is 0
	BestStep     uint64
	StepRate     float64 // steps per second; 0: not known yet
	FLOPsPerStep float64 // 0: not known
	Workers      int
	WorkerBytes  float64 // bytes that a step moves to and from each worker; 0: not known
	Note         string  // e.g. what the run waits for
}

// Term is a named part of the loss.
type Term struct {
	Name  string
	Value float64
}

// Line writes the progress in at most width columns (below 1: no limit). It leaves out the least important parts
// first, all of one rank at a time; step, objective and note stay, even where they are wider.
func (p Progress) Line(width int) string {
	terms := make([]string, len(p.Terms))
	for i, t := range p.Terms {
		terms[i] = t.Name + " " + number(t.Value)
	}
	// In the order of the line.
	parts := []struct {
		text string
		rank int // the part with the highest rank is left out first
	}{
		{fmt.Sprintf("step %s/%s", Group(p.Step), Group(p.Steps)), 0},
		{fmt.Sprintf("%d%%", percent(p.Step, p.Steps)), 2},
		{p.objective(), 0},
		{strings.Join(terms, " "), 6},
		{p.best(), 5},
		{p.rate(), 3},
		{p.flops(), 7},
		{Count(p.Workers, "worker"), 4},
		{p.traffic(), 8},
		{p.eta(), 1},
		{p.Note, 0},
	}
	// 8 is the highest rank above.
	for limit := 8; ; limit-- {
		var kept []string
		for _, part := range parts {
			if part.text != "" && part.rank <= limit {
				kept = append(kept, part.text)
			}
		}
		line := strings.Join(kept, "  ")
		if limit == 0 || width < 1 || utf8.RuneCountInString(line) < width {
			return line
		}
	}
}

// objective and the functions below are the parts of the line; each is empty where it is not known.
func (p Progress) objective() string {
	if len(p.Terms) == 0 {
		return ""
	}
	return "objective " + number(p.Objective)
}

func (p Progress) best() string {
	if p.BestStep == 0 {
		return ""
	}
	return fmt.Sprintf("best %s @%s", number(p.Best), Group(p.BestStep))
}

func (p Progress) rate() string {
	switch {
	case p.StepRate <= 0:
		return ""
	case p.StepRate < 1:
		return fmt.Sprintf("%.1f s/step", 1/p.StepRate)
	}
	return strconv.FormatFloat(p.StepRate, 'f', decimals(p.StepRate), 64) + " step/s"
}

func (p Progress) flops() string {
	if p.StepRate <= 0 || p.FLOPsPerStep <= 0 {
		return ""
	}
	g := p.FLOPsPerStep * p.StepRate / 1e9
	return strconv.FormatFloat(g, 'f', decimals(g), 64) + " GFLOP/s"
}

func (p Progress) traffic() string {
	if p.WorkerBytes <= 0 {
		return ""
	}
	return Bytes(int64(p.WorkerBytes)) + " each per step"
}

func (p Progress) eta() string {
	if p.StepRate <= 0 || p.Step >= p.Steps {
		return ""
	}
	left := float64(p.Steps-p.Step) / p.StepRate * float64(time.Second)
	if left >= math.MaxInt64 { // three centuries
		return ""
	}
	return "eta " + Short(time.Duration(left))
}

// number writes four significant digits, without an exponent if the number is then short.
func number(v float64) string {
	a := math.Abs(v)
	if a != 0 && (a < 1e-3 || a >= 1e6) || math.IsNaN(v) || math.IsInf(v, 0) {
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
	return strconv.FormatFloat(v, 'f', decimals(a), 64)
}

// decimals is the number of decimals that shows about four digits of v.
func decimals(v float64) int {
	switch {
	case v >= 1000:
		return 0
	case v >= 100:
		return 1
	case v >= 10:
		return 2
	default:
		return 3
	}
}

// percent is the share of a in b in whole percent, rounded down so that 100 is only reached at the end; 0 for an
// empty b.
func percent(a, b uint64) int {
	if b == 0 {
		return 0
	}
	return int(100 * a / b)
}
