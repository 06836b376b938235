package scaling

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/switchyard-ml/switchyard/internal/readable"
)

// Sample is what a coordinator saw of a step. Work is what all workers computed together, Compute what the busiest did; what
// is left of Seconds went into messages and the coordinator's own part. Bytes are those of the coordinator, before the
// broker multiplies what goes to all workers.
type Sample struct {
	Seconds, Compute, Work float64
	BytesIn, BytesOut      float64
	Workers                int
}

// Habits are what a run does already, and need not be told.
type Habits struct{ Int16, Local bool }

const (
	// noticeable is the time of messages in a step below which nothing is said.
	noticeable = 0.02
	// window is how many steps are looked at together.
	window = 20
	// news is how much the time of messages has to change to be told again.
	news = 1.5
)

// Advise says what the messages of a step cost and what would save time, if they, and not the gradients, are what the step
// waits for: when Seconds − Compute exceeds Compute. The rate of the link is what the messages M = Seconds − Compute make
// of it, if the W copies of the parameters and the gradients went through one link one after the other:
//
//	b = (BytesIn + W·BytesOut)/M,  int16 saves BytesIn/2b,  H local steps save M·(1 − 1/H),
//	and w workers take Work/w + M·w/W
func Advise(s Sample, h Habits) (text string, ok bool) {
	messages, workers := s.Seconds-s.Compute, float64(s.Workers)
	moved := s.BytesIn + workers*s.BytesOut
	if messages <= s.Compute || messages < noticeable || s.Workers < 1 || moved <= 0 {
		return "", false
	}
	var help []string
	offer := func(saves float64, format string, args ...any) {
		if saves >= worthwhile*s.Seconds {
			help = append(help, fmt.Sprintf(format, args...)+fmt.Sprintf(" would save about %.2g s", saves))
		}
	}
	if !h.Int16 && !h.Local {
		offer(messages*s.BytesIn/2/moved, "train.gradients=int16")
	}
	if !h.Local {
		offer(messages*(1-1.0/localSteps), "train.method=diloco with %d local steps", localSteps)
	}
	if n := fewer(s); n < s.Workers {
		offer(s.Seconds-s.Work/float64(n)-messages*float64(n)/workers, "%s instead of %d", readable.Count(n, "worker"), s.Workers)
	}
	text = fmt.Sprintf("messages take %.2g s of %.2g s per step (%.3g MB, at about %.3g Mbit/s)", messages, s.Seconds, moved/1e6, 8*moved/messages/1e6)
	if len(help) > 0 {
		text += ": " + strings.Join(help, ", ")
	}
	return text + "; see docs/scaling.md", true
}

// fewer is the number of workers with the shortest step, √(Work·W/M), or as many as there are.
func fewer(s Sample) int {
	n := int(math.Round(math.Sqrt(s.Work * float64(s.Workers) / (s.Seconds - s.Compute))))
	return min(max(n, 1), s.Workers)
}

// Adviser looks at the steps of a run and advises once, and again when the messages' time has changed much.
type Adviser struct {
	Habits Habits

	samples []Sample
	told    float64 // seconds of messages when it was last told; 0: never
}

// Step looks at a step. Every so many with the same workers it may have advice.
func (a *Adviser) Step(s Sample) (text string, ok bool) {
	if len(a.samples) > 0 && a.samples[0].Workers != s.Workers {
		a.samples = a.samples[:0]
	}
	a.samples = append(a.samples, s)
	if len(a.samples) < window {
		return "", false
	}
	m := Sample{
		Seconds: a.median(func(s Sample) float64 { return s.Seconds }), Compute: a.median(func(s Sample) float64 { return s.Compute }),
		Work: a.median(func(s Sample) float64 { return s.Work }), BytesIn: a.median(func(s Sample) float64 { return s.BytesIn }),
		BytesOut: a.median(func(s Sample) float64 { return s.BytesOut }), Workers: s.Workers,
	}
	a.samples = a.samples[:0]
	messages := m.Seconds - m.Compute
	if a.told > 0 && messages < news*a.told && messages > a.told/news {
		return "", false
	}
	if text, ok = Advise(m, a.Habits); ok {
		a.told = messages
	}
	return text, ok
}

// median is the middle of a figure of the samples.
func (a *Adviser) median(of func(Sample) float64) float64 {
	values := make([]float64, 0, window)
	for _, s := range a.samples {
		values = append(values, of(s))
	}
	slices.Sort(values)
	return values[len(values)/2]
}
