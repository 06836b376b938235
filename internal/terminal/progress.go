package terminal

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Progress is what the status line of a training run says.
type Progress struct {
	Step, Steps  uint64
	ELBO         float64 // nats per time step
	Terms        []Term  // parts of the ELBO, as losses; none: the ELBO is not known yet
	Best         float64 // best validation ELBO; meaningless where BestStep is 0
	BestStep     uint64
	StepRate     float64 // steps per second; 0: not known yet
	FLOPsPerStep float64 // 0: not known
	Workers      int
	WorkerBytes  float64 // that a step moves to and from each worker; 0: not known
	Note         string  // e.g. what the run waits for
}

// Term is a named part of the ELBO.
type Term struct {
	Name  string
	Value float64
}

// Line writes the progress in at most width columns (below 1: no limit). What
// matters least is left out first.
func (p Progress) Line(width int) string {
	terms := make([]string, len(p.Terms))
	for i, t := range p.Terms {
		terms[i] = t.Name + " " + number(t.Value)
	}
	parts := []struct {
		text string
		rank int // the highest is dropped first
	}{
		{fmt.Sprintf("step %s/%s", Group(p.Step), Group(p.Steps)), 0},
		{fmt.Sprintf("%d%%", percent(p.Step, p.Steps)), 2},
		{p.elbo(), 0},
		{strings.Join(terms, " "), 6},
		{p.best(), 5},
		{p.rate(), 3},
		{p.flops(), 7},
		{Count(p.Workers, "worker"), 4},
		{p.traffic(), 8},
		{p.eta(), 1},
		{p.Note, 0},
	}
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

func (p Progress) elbo() string {
	if len(p.Terms) == 0 {
		return ""
	}
	return "elbo " + number(p.ELBO)
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
	return "eta " + Short(time.Duration(float64(p.Steps-p.Step)/p.StepRate*float64(time.Second)))
}

// Short writes a duration as people say it: 8s, 4m05s, 3h07m, 2d04h.
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

// Group writes a whole number with commas: 20,000.
func Group[T ~int | ~int64 | ~uint64](n T) string {
	s := strconv.FormatInt(int64(n), 10)
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

// Bytes writes a number of bytes with a binary unit: 512 B, 1.5 MiB.
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

// number writes four significant digits without an exponent where that is short.
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

func percent(a, b uint64) int {
	if b == 0 {
		return 0
	}
	return int(float64(a) / float64(b) * 100)
}

// Count writes a number of things: 1 worker, 2 workers.
func Count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return strconv.Itoa(n) + " " + thing
}
