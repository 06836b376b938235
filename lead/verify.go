package lead

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/lead/job"
)

// Verdict is the result of Verify. The steps From to To were made again, up to the first difference. Equal says that
// there is none in the steps that the log has.
type Verdict struct {
	Run     string      `json:"run"`
	From    uint64      `json:"from"`
	To      uint64      `json:"to"`
	Start   uint64      `json:"start"`   // step of the checkpoint that Verify began with; 0: the initial parameters
	Missing uint64      `json:"missing"` // number of these steps or rounds that are not in the log
	Equal   bool        `json:"equal"`
	Differs *Difference `json:"difference,omitempty"`
	Notes   []Note      `json:"notes,omitempty"` // what the coordinator held against workers in these steps
	Kernels string      `json:"kernels"`
	Seconds float64     `json:"seconds"`
}

// Note is what the coordinator wrote about a worker, or about a sum that it did not use.
type Note struct {
	Step   uint64 `json:"step"`
	Worker string `json:"worker,omitempty"`
	Reason string `json:"reason"`
}

// notes are what the log holds against workers in the steps from..to, without repetitions.
func (r *Record) notes(from, to uint64) []Note {
	var list []Note
	for _, e := range r.log.Events {
		switch e.Kind {
		case coordinator.EventQuarantine, coordinator.EventDoubt, coordinator.EventAside:
			n := Note{e.Step + 1, e.Worker, e.Reason} // the step that was under way
			if n.Step >= from && n.Step <= to && !slices.Contains(list, n) {
				list = append(list, n)
			}
		}
	}
	return list
}

// Difference is the first step with another result than the log. Logged and Computed are hashes of the parameters
// after it (see coordinator.HashTheta), and Term is that of the coordinator that logged it.
type Difference struct {
	Step     uint64    `json:"step"`
	Logged   string    `json:"logged"`
	Computed string    `json:"computed"`
	Term     uint64    `json:"term"`
	Suspects []Suspect `json:"suspects"` // blocks, or sums, that this machine does not reproduce; null: not known
}

// Verify makes the steps from..to of a run again, in whole rounds, and compares them with its log. to = 0 is the last
// step of the log. It returns a usage error for steps that the log does not have. A difference is no error, but part
// of the verdict. It begins at the newest valid checkpoint before from, so it may make more steps than it was asked
// for, and those are compared, too.
func Verify(ctx context.Context, r *Record, from, to uint64, with Options) (*Verdict, error) {
	if to == 0 {
		to = r.log.Last
	}
	if from < 1 || from > to || to > r.log.Last {
		return nil, config.Usagef("steps %d to %d: the log of %s holds steps 1 to %d", from, to, r.name, r.log.Last)
	}
	h := job.Stride(r.config)
	from, to = (from-1)/h*h+1, (to+h-1)/h*h // whole rounds
	start, err := r.before(from - 1)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	v := &Verdict{Run: r.name, From: from, To: to, Start: stepOf(start), Equal: true, Kernels: kernel.Active().String()}
	// Every round has one entry, at its last update.
	for step := from - 1 + h; step <= to; step += h {
		if _, ok := r.log.Entries[step]; !ok {
			v.Missing++
		}
	}
	v.Notes = r.notes(from, to)
	again := &recomputation{record: r, from: start, to: to, check: true, with: with}
	_, err = again.run(ctx)
	var replay *coordinator.ReplayError
	if errors.As(err, &replay) {
		v.Equal, err = false, nil
		v.Differs = &Difference{
			Step: replay.Step, Logged: replay.Logged.Theta, Computed: replay.Computed.Theta,
			Term: replay.Logged.Term,
		}
		// The parameters before the step are there only if the recomputation got there: the checkpoint itself may be
		// what differs.
		if again.step+h == replay.Step {
			v.Differs.Suspects, err = r.suspects(ctx, again.theta, again.levels, replay.Logged)
		}
	}
	v.Seconds = time.Since(began).Seconds()
	return v, err
}
