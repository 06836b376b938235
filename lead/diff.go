package lead

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
	"github.com/switchyard-ml/switchyard/worker"
)

// Comparison is what Diff found. If the runs differ, one of Place, Suspects and Note says why, or why that is not
// known.
type Comparison struct {
	A      string `json:"a"`
	B      string `json:"b"`
	Equal  bool   `json:"equal"`
	Common uint64 `json:"common"`         // last step after which the logs agree
	Step   uint64 `json:"step,omitempty"` // first step after which the logs differ; 0: the initial parameters differ
	// Hashes of the parameters at that step, as in the logs; see coordinator.HashTheta.
	HashA    string              `json:"hash_a,omitempty"`
	HashB    string              `json:"hash_b,omitempty"`
	Keys     []config.Difference `json:"keys"`               // keys that decide the bits and differ
	Place    *Parting            `json:"place,omitempty"`    // first difference between the programs; null: there is none
	Suspects []Suspect           `json:"suspects,omitempty"` // workers whose results this machine does not reproduce
	Note     string              `json:"note,omitempty"`     // further explanation

	with   Options
	stride uint64 // updates between two lines of a log
}

// Compared reports whether the runs have anything to compare: initial parameters that differ, or a step that is in both
// logs. If not, Note says so.
func (d *Comparison) Compared() bool { return d.Equal || d.Step > 0 || d.Place != nil }

// before is the step before the one at which the runs begin to differ.
func (d *Comparison) before() uint64 { return d.Step - d.stride }

// Parting is the first number that differs.
type Parting struct {
	What    string  `json:"what"` // initial parameters, gradients or model
	Shard   int     `json:"shard"`
	Tensor  string  `json:"tensor"`
	Element int     `json:"element"` // within the tensor
	Count   int     `json:"count"`   // of the tensor's elements that differ
	Size    int     `json:"size"`
	A       float32 `json:"-"`
	B       float32 `json:"-"`
}

// Diff finds the first step after which two runs have different parameters, and the reason. It compares the initial
// parameters, then the hashes in the logs, and then computes the first differing step again with the programs of
// both runs. It only reads the folders of the runs. When ctx ends, it returns an error.
func Diff(ctx context.Context, ra, rb *Record, with Options) (*Comparison, error) {
	d := &Comparison{
		with: with, stride: max(job.Stride(ra.config), job.Stride(rb.config)), A: ra.name, B: rb.name,
		Keys: config.Differences(ra.plan.Config, rb.plan.Config),
	}
	// Parameters that differ before the first update explain all that follows.
	a, err := ra.plan.Initial(ctx)
	if err != nil {
		return nil, err
	}
	b, err := rb.plan.Initial(ctx)
	if err != nil {
		return nil, err
	}
	if d.Place = initialDifference(ra.plan.Layout, rb.plan.Layout, a, b); d.Place != nil {
		d.HashA, d.HashB = coordinator.HashTheta(a), coordinator.HashTheta(b)
		return d, nil
	}
	ea, eb := d.part(ra.log, rb.log)
	if d.Equal || d.Step == 0 {
		return d, nil
	}
	d.HashA, d.HashB = ea.Theta, eb.Theta
	// The logs have gaps: the last common step is not the one before the first differing one.
	if d.before() > d.Common {
		d.Note = fmt.Sprintf("steps %d to %d are not in both logs, so the runs may have parted before", d.Common+1,
			d.before())
		return d, nil
	}
	return d, d.explain(ctx, ra, rb)
}

// part finds the first step after which two logs differ, and returns both entries of it. It sets Common, and Step or
// Equal. Steps that only one of the logs has are skipped; if no step is in both, neither is set, and Note says so.
func (d *Comparison) part(a, b *coordinator.Log) (ea, eb coordinator.Entry) {
	for step := uint64(1); step <= min(a.Last, b.Last); step++ {
		ea, inA := a.Entries[step]
		eb, inB := b.Entries[step]
		if !inA || !inB {
			continue
		}
		if ea.Theta != eb.Theta {
			d.Step = step
			return ea, eb
		}
		d.Common = step
	}
	if d.Equal = d.Common > 0; !d.Equal {
		d.Note = "no step is in both logs, so nothing can be compared"
	}
	return coordinator.Entry{}, coordinator.Entry{}
}

// initialDifference finds the first tensor whose initial values differ in two runs; nil if there is none. If the
// runs have different numbers of parameters, it names the first tensor at which the layouts differ.
func initialDifference(ofA, ofB []coordinator.Tensor, a, b []float32) *Parting {
	if len(a) == len(b) {
		return firstDifference("initial parameters", ofA, a, b)
	}
	for i, t := range ofA {
		if i >= len(ofB) || ofB[i].Name != t.Name || ofB[i].Size != t.Size {
			return &Parting{What: "model", Tensor: t.Name, Size: t.Size}
		}
	}
	return &Parting{What: "model", Tensor: ofB[len(ofA)].Name, Size: ofB[len(ofA)].Size}
}

// firstDifference finds the first tensor that differs in two vectors of that layout, and counts the elements that
// differ in it; nil if there is none. Bits are compared: a NaN equals itself, and zeros of different sign differ.
func firstDifference(what string, layout []coordinator.Tensor, a, b []float32) *Parting {
	for _, t := range layout {
		var p *Parting
		for i := t.Offset; i < t.Offset+t.Size; i++ {
			if math.Float32bits(a[i]) == math.Float32bits(b[i]) {
				continue
			}
			if p == nil {
				p = &Parting{What: what, Tensor: t.Name, Element: i - t.Offset, Size: t.Size, A: a[i], B: b[i]}
			}
			p.Count++
		}
		if p != nil {
			return p
		}
	}
	return nil
}

// explain computes the step at which two runs begin to differ again, from the parameters that both had before.
func (d *Comparison) explain(ctx context.Context, ra, rb *Record) error {
	common, err := d.common(ctx, ra, rb)
	if err != nil || common == nil {
		return err
	}
	if d.Note = unlike(ra.plan.Config, rb.plan.Config); d.Note != "" {
		return nil
	}
	if d.Place, err = d.compareGradients(ctx, ra, rb, common.Theta); err != nil || d.Place != nil {
		return err
	}
	// The programs agree, so a worker has computed something else, or the coordinator has.
	unknown := false
	for _, r := range []*Record{ra, rb} {
		list, err := r.suspects(ctx, common.Theta, common.Levels, r.log.Entries[d.Step])
		if err != nil {
			return err
		}
		d.Suspects = append(d.Suspects, list...)
		unknown = unknown || list == nil
	}
	if len(d.Suspects) > 0 {
		return nil
	}
	if d.Note, err = d.blameUpdate(ctx, ra, rb); unknown && err == nil {
		d.Note += "; the checksums of the blocks cannot be compared, as a log does not say how they were formed"
	}
	return err
}

// unlike says why the gradients of two runs cannot be compared shard by shard; empty: they can. A shard has to mean the
// same in both, and both have to round alike.
func unlike(a, b config.Config) string {
	const forms = "travel in different forms, which rounds them differently"
	switch {
	case a.Train.Shards != b.Train.Shards || a.Train.Batch != b.Train.Batch ||
		job.RoundShards(a) != job.RoundShards(b) || job.Stride(a) != job.Stride(b):
		return "the runs divide a step into other sequences or shards, or have other rounds, which cannot be compared " +
			"one by one"
	case job.Coding(a) != job.Coding(b):
		return "the gradients of the runs " + forms
	case job.ParametersCoding(a) != job.ParametersCoding(b):
		return "the parameters of the runs " + forms
	}
	return ""
}

// common is the state after the last step that both runs agree on; nil if this machine does not reproduce it. It
// begins at the newest checkpoint that either run has at or before that step. A difference from the log on the way
// is no error: Note says so.
func (d *Comparison) common(ctx context.Context, ra, rb *Record) (*checkpoint.Checkpoint, error) {
	best := &recomputation{to: d.before(), check: true, with: d.with}
	for _, r := range []*Record{ra, rb} {
		cp, err := r.before(d.before())
		if err != nil {
			return nil, err
		}
		if best.record == nil || stepOf(cp) > stepOf(best.from) {
			best.record, best.from = r, cp
		}
	}
	cp, err := best.run(ctx)
	var replay *coordinator.ReplayError
	if errors.As(err, &replay) {
		d.Note = fmt.Sprintf("this machine computes other bits than both runs from step %d on (hash %s, logged %s), so it "+
			"cannot say which worker is wrong",
			replay.Step, replay.Computed.Theta, replay.Logged.Theta)
		return nil, nil
	}
	return cp, err
}

// compareGradients computes every shard of the step with both programs, and returns the first difference. It returns
// nil if all are the same. The gradients are those of the model, before they are rounded for messages.
func (d *Comparison) compareGradients(ctx context.Context, ra, rb *Record, theta []float32) (*Parting, error) {
	step := d.before()
	pa, err := ra.program(step, theta)
	if err != nil {
		return nil, err
	}
	pb, err := rb.program(step, theta)
	if err != nil {
		return nil, err
	}
	var gradients, terms [2][]float32
	for i := range gradients {
		gradients[i], terms[i] = make([]float32, len(theta)), make([]float32, len(ra.plan.Terms))
	}
	for shard := range job.RoundShards(ra.plan.Config) {
		for i, p := range []worker.Program{pa, pb} {
			err := worker.GradientWhile(p, 0, step, shard, gradients[i], terms[i], func() bool { return ctx.Err() == nil })
			if err := errors.Join(ctx.Err(), err); err != nil {
				return nil, fmt.Errorf("compute shard %d of step %d: %w", shard, d.Step, err)
			}
		}
		if p := firstDifference("gradients", ra.plan.Layout, gradients[0], gradients[1]); p != nil {
			p.Shard = shard
			return p, nil
		}
	}
	return nil, nil
}

// blameUpdate makes the step with the optimiser of each run, and says whose log differs from the result. Each begins at
// a checkpoint of its own: the parameters before the step are common to both, but what the optimisers remember need
// not be.
func (d *Comparison) blameUpdate(ctx context.Context, ra, rb *Record) (string, error) {
	text := "the gradients are the same in both; "
	wrong := ""
	for _, r := range []*Record{ra, rb} {
		from, err := r.before(d.before())
		if err != nil {
			return "", err
		}
		_, err = (&recomputation{record: r, from: from, to: d.Step, check: true, with: d.with}).run(ctx)
		var replay *coordinator.ReplayError
		switch {
		case errors.As(err, &replay) && replay.Step < d.Step:
			return fmt.Sprintf("%sbut this machine computes other bits than run %s from step %d on, so it cannot say why the "+
				"updates differ", text, r.name, replay.Step), nil
		case errors.As(err, &replay):
			wrong += fmt.Sprintf("; the update of run %s has hash %s here, %s in its log", r.name, replay.Computed.Theta,
				replay.Logged.Theta)
		case err != nil:
			return "", err
		}
	}
	if wrong == "" {
		return text + "the updates differ by the configuration", nil
	}
	return text + "the coordinator made another update than this machine, or the log is damaged" + wrong, nil
}
