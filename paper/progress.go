package paper

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/switchyard-ml/switchyard/internal/terminal"
)

// Progress is how far a study is. A trial counts as done whether it succeeded or not.
type Progress struct {
	Trials, Done int
	Active       []Active // in the order in which they began
	Trial        int      // the one that has changed
}

// Active is a trial that is being trained or measured. Step and Steps count updates.
type Active struct {
	Trial       int
	Name        string
	Step, Steps uint64
	Rate        float64 // updates per second; 0: not known yet
	Measuring   string  // the protocol; empty: it is being trained
}

// Line writes the progress in at most width columns; width below 1 is no limit. Trials that do not fit are left
// out.
func (p Progress) Line(width int) string {
	parts := []string{fmt.Sprintf("%d of %d runs", p.Done, p.Trials)}
	for _, a := range p.Active {
		text := fmt.Sprintf("%s %d%%", a.Name, 100*a.Step/max(a.Steps, 1))
		if a.Measuring != "" {
			text = a.Name + " " + a.Measuring
		}
		if width > 0 && len([]rune(strings.Join(append(parts, text), "  "))) >= width {
			break
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "  ")
}

// board collects the progress of trials that run at the same time. Its methods may be called by several
// goroutines: show is called with the lock held, so one call at a time, and must not call back.
type board struct {
	show func(Progress)

	mu       sync.Mutex
	progress Progress
	study    *Study
}

// newBoard is the board of a study that has begun nothing.
func newBoard(s *Study) *board {
	return &board{show: s.Show, study: s, progress: Progress{Trials: len(s.Trials)}}
}

// change changes what is shown of a trial and shows it.
func (b *board) change(i int, f func(*Active)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := slices.IndexFunc(b.progress.Active, func(a Active) bool { return a.Trial == i })
	if at < 0 {
		at = len(b.progress.Active)
		b.progress.Active = append(b.progress.Active, Active{
			Trial: i, Name: b.study.Trials[i].Name,
			Steps: b.study.Trials[i].Config.Train.Steps,
		})
	}
	f(&b.progress.Active[at])
	b.tell(i)
}

// tell shows a copy of the progress, which show may keep, after a change of trial i. The lock is held.
func (b *board) tell(i int) {
	p := b.progress
	p.Trial, p.Active = i, slices.Clone(p.Active)
	b.show(p)
}

// training, measuring and done enter what a trial does.
func (b *board) training(i int, p terminal.Progress) {
	b.change(i, func(a *Active) { a.Step, a.Rate = p.Step, p.StepRate })
}

func (b *board) measuring(i int, protocol string) {
	b.change(i, func(a *Active) { a.Step, a.Measuring = a.Steps, protocol })
}

func (b *board) done(i int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.progress.Active = slices.DeleteFunc(b.progress.Active, func(a Active) bool { return a.Trial == i })
	b.progress.Done++
	b.tell(i)
}
