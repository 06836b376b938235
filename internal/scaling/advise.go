package scaling

import (
	"fmt"
	"math"
	"strings"

	"github.com/switchyard-ml/switchyard/internal/terminal"
)

// Sample is what a coordinator measured in a step. Work is the time that all workers computed together, Compute
// the time of the busiest one, in seconds; the rest of Seconds went into messages and the coordinator's own work.
// Bytes are those of the coordinator, before the broker copies messages to all workers.
type Sample struct {
	Seconds, Compute, Work float64 // seconds
	BytesIn, BytesOut      float64
	Workers                int
}

// Habits are the measures that a run already uses, or cannot use, which are not worth advising. The zero Habits are
// those of a plain run.
type Habits struct {
	Integers, ManyShards bool // gradients travel as integers; as float32, and their sum does not fit into 16 bits
	Differences          bool // parameters travel as differences
	LocalSteps           bool
}

const (
	// noticeable is the time for messages in a step, in seconds, below which there is no advice.
	noticeable = 0.02
	// window is the number of steps that are judged together.
	window = 20
	// news is the factor by which the time for messages has to change before there is advice again.
	news = 1.5
)

// Advise says what the messages of a step cost and what would save time. It has advice if a step waits more for
// messages than for gradients: if Seconds − Compute exceeds Compute. The rate of the link follows from the time for
// messages, M = Seconds − Compute, as if the W copies of the parameters and the gradients went through one link one
// after the other:
//
//	b = (BytesIn + W·BytesOut)/M,  int16 saves BytesIn/2b,  delta16 saves W·BytesOut/2b,
//	H local steps save M·(1 − 1/H),  and w workers take Work/w + M·w/W
func Advise(s Sample, h Habits) (text string, ok bool) {
	messages, workers := s.Seconds-s.Compute, float64(s.Workers)
	moved := s.BytesIn + workers*s.BytesOut
	if messages <= s.Compute || messages < noticeable || s.Workers < 1 || moved <= 0 {
		return "", false
	}
	var help []string
	// What saves less than a twentieth of the step is not worth a change.
	offer := func(saves float64, format string, args ...any) {
		if saves >= worthwhile*s.Seconds {
			help = append(help, fmt.Sprintf(format, args...)+" would save about "+terminal.Number(saves, 2)+" s")
		}
	}
	if !h.Integers && !h.ManyShards && !h.LocalSteps {
		offer(messages*s.BytesIn/2/moved, "train.gradients=int16")
	}
	if !h.Differences && !h.LocalSteps {
		offer(messages*workers*s.BytesOut/2/moved, "train.parameters=delta16")
	}
	if !h.LocalSteps {
		need := ""
		if h.Integers {
			need = floats
		}
		offer(messages*(1-1.0/localSteps), "%strain.method=diloco with %d local steps", need, localSteps)
	}
	if n := fewer(s); n < s.Workers {
		offer(s.Seconds-s.Work/float64(n)-messages*float64(n)/workers, "%s instead of %d", terminal.Count(n, "worker"),
			s.Workers)
	}
	text = fmt.Sprintf("messages take %s s of %s s per step (%s MB, at about %s Mbit/s)", terminal.Number(messages, 2),
		terminal.Number(s.Seconds, 2), terminal.Digits(moved/1e6), terminal.Digits(8*moved/messages/1e6))
	if len(help) > 0 {
		text += ": " + strings.Join(help, ", ")
	}
	return text + "; see docs/scaling.md", true
}

// fewer is the number of workers with the shortest step. By the model of Advise, w workers take Work/w + M·w/W,
// which is least at
//
//	w = √(Work·W/M)
//
// It is all of them if that is more than there are, and at least one.
func fewer(s Sample) int {
	n := int(math.Round(math.Sqrt(s.Work * float64(s.Workers) / (s.Seconds - s.Compute))))
	return min(max(n, 1), s.Workers)
}

// Adviser watches the steps of a run. It advises once, and again when the time for messages has changed by the
// factor news. It judges medians, so that a single slow step leads to no advice. It is for one goroutine.
type Adviser struct {
	Habits Habits

	samples []Sample
	advised float64 // seconds for messages at the last advice; 0: none yet
}

// Step adds a step. After each window of steps with the same number of workers it may return advice.
func (a *Adviser) Step(s Sample) (text string, ok bool) {
	if len(a.samples) > 0 && a.samples[0].Workers != s.Workers {
		a.samples = a.samples[:0]
	}
	a.samples = append(a.samples, s)
	if len(a.samples) < window {
		return "", false
	}
	m := Sample{
		Seconds:  median(a.samples, func(s Sample) float64 { return s.Seconds }),
		Compute:  median(a.samples, func(s Sample) float64 { return s.Compute }),
		Work:     median(a.samples, func(s Sample) float64 { return s.Work }),
		BytesIn:  median(a.samples, func(s Sample) float64 { return s.BytesIn }),
		BytesOut: median(a.samples, func(s Sample) float64 { return s.BytesOut }), Workers: s.Workers,
	}
	a.samples = a.samples[:0]
	messages := m.Seconds - m.Compute
	if a.advised > 0 && messages < news*a.advised && messages > a.advised/news {
		return "", false
	}
	if text, ok = Advise(m, a.Habits); ok {
		a.advised = messages
	}
	return text, ok
}
