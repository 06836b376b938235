package job

import (
	"cmp"
	"fmt"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/wire"
)

// Here says where a run is trained, for people.
type Here struct {
	Folder         string // of the run; empty: it is not trained
	Workers, Slots int    // of this process, and of each of them
	Broker         string // address that the broker listens on; empty: other processes do not reach it
	Page           string // of the run; empty: there is none
}

// Facts describe a run and how it would be trained here, as pairs of a name and a text in the order in which people
// read them. Nothing is computed for them. A data set may add facts of how it is read, notes and warnings.
func (p *Plan) Facts(h Here) terminal.Facts {
	c := p.Config
	folder := cmp.Or(h.Folder, "none: a dry run")
	sweeps, sweeping := config.Sweeps(c)
	window := "whole"
	if c.Env.Window > 0 && !sweeping {
		window = fmt.Sprintf("windows of %d", c.Env.Window)
	}
	bytes, exchange, unit := terminal.Bytes(int64(4*len(p.Theta))), "step", "shards"
	back, there := bytes, bytes
	if coding := ParametersCoding(c); coding != wire.Float32 {
		there = terminal.Bytes(int64(coding.Width()*len(p.Theta))) + " of changes"
	}
	if coding := Coding(c); coding != wire.Float32 {
		back = terminal.Bytes(int64(coding.Width()*len(p.Theta))) + " of integers"
	}
	if LocalSteps(c) {
		exchange, unit = "round", "replicas"
	}
	step := fmt.Sprintf("%s in %s, %s GFLOP", terminal.Count(c.Train.Batch, "sequence"),
		terminal.Count(c.Train.Shards, "shard"), terminal.Digits(p.FLOPs/1e9))
	training := fmt.Sprintf("%s steps, %s, %s", terminal.Group(c.Train.Steps), every("validation", c.Train.ValidateEvery),
		every("checkpoint", c.Train.CheckpointEvery))
	if c.Train.Patience > 0 {
		training += fmt.Sprintf(", ends after %s without a better one", terminal.Count(int(c.Train.Patience), "validation"))
	}
	if sweeping {
		exchange, unit = "round", "chains"
		step = fmt.Sprintf("a sweep of %s over all data", terminal.Count(sweeps.Chains, "chain"))
		training = fmt.Sprintf("%s steps, no validation, %s", terminal.Group(c.Train.Steps),
			every("checkpoint", c.Train.CheckpointEvery))
	}
	facts := terminal.Facts{
		{"run", fmt.Sprintf("%s (preset %s, seed %d)", folder, c.Preset, c.Seed)},
		{"data", sourceText(p) + ", " + window},
		{"model", fmt.Sprintf("%s, %s, %s parameters in %d tensors", c.Model.Kind, config.Describe(c).Text,
			terminal.Group(len(p.Theta)), len(p.Layout))},
		{"bound", boundText(p)},
		{"step", step},
		{"method", methodText(c)},
		{"traffic", fmt.Sprintf("%s of parameters to each worker per %s, %s back per block of %s", there, exchange, back,
			unit)},
		{"workers", fmt.Sprintf("%d here, %s each, %s kernels", h.Workers, terminal.Count(h.Slots, "slot"),
			kernel.Active())},
		{"memory", fmt.Sprintf("about %s of values for each worker", terminal.Bytes(int64(p.Memory)))},
		{"broker", "embedded NATS, " + brokerText(h.Broker)},
		{"page", cmp.Or(h.Page, "none; --web 127.0.0.1:8080 opens one")},
		{"training", training},
	}
	facts = append(facts, readFacts(p)...)
	facts = append(facts, noteFacts(p)...)
	if p.Data != nil && !sweeping {
		if warning := unvalidated(c); warning != "" {
			facts = append(facts, terminal.Fact{"warning", warning})
		}
		if warning := oversized(len(p.Theta), p.Data.Values); warning != "" {
			facts = append(facts, terminal.Fact{"warning", warning})
		}
	}
	return facts
}

// readFacts say how the files are read, as far as it was guessed.
func readFacts(p *Plan) terminal.Facts {
	if p.Data == nil {
		return nil
	}
	var facts terminal.Facts
	for i, key := range p.Data.Guessed {
		if i == 0 {
			key += "  (guessed by names and values; say the key to decide otherwise)"
		}
		facts = append(facts, terminal.Fact{[]string{"read by", ""}[min(i, 1)], key})
	}
	return facts
}

// unvalidated says that a training ends before its first validation is due; empty if it does not. The end of a
// training is validated in any case.
func unvalidated(c config.Config) string {
	if c.Train.ValidateEvery > 0 && c.Train.ValidateEvery < c.Train.Steps {
		return ""
	}
	return fmt.Sprintf("%s end before a validation is due: only the last parameters are validated, so that better ones "+
		"on the way are lost; set train.validate_every=%d", terminal.Count(int(c.Train.Steps), "step"),
		max(1, c.Train.Steps/10))
}

// mostNotes is the number of notes of a plan.
const mostNotes = 3

// noteFacts say what of the files is not used, or read in an unexpected way: a column of dates that nobody reads may
// hide gaps.
func noteFacts(p *Plan) terminal.Facts {
	if p.Data == nil {
		return nil
	}
	var facts terminal.Facts
	notes := p.Data.Dataset().Notes
	for i, note := range notes {
		if i == mostNotes {
			return append(facts, terminal.Fact{"note", fmt.Sprintf("and %d more; switchyard data info has them", len(notes)-i)})
		}
		facts = append(facts, terminal.Fact{"note", note})
	}
	return facts
}

// boundText says what a validation reports beside the objective, which is minus the loss.
func boundText(p *Plan) string {
	text := config.Describe(p.Config).Bound
	if text == "" {
		text = "none: the model has only its objective, minus the loss"
	}
	for _, t := range p.Terms {
		if t.Note != "" {
			text += "; " + t.Label + ": " + t.Note
		}
	}
	return text
}

// methodText says how the updates are made.
func methodText(c config.Config) string {
	t := c.Train
	if s, ok := config.Sweeps(c); ok {
		return fmt.Sprintf("chains: each alone, in rounds of %s", terminal.Count(s.Exchange, "sweep"))
	}
	if !LocalSteps(c) {
		return "synchronous: one exchange per step"
	}
	return fmt.Sprintf("diloco: rounds of %s of %s, each on %s of a step", terminal.Count(int(t.LocalSteps), "local step"),
		terminal.Count(t.Replicas, "replica"), terminal.Count(t.Shards/t.Replicas, "shard"))
}

// sourceText says where the sequences come from.
func sourceText(p *Plan) string {
	c := p.Config.Env
	if p.Data == nil {
		return fmt.Sprintf("%s, %s episodes of %d steps", c.Kind, terminal.Group(c.Episodes), c.Length)
	}
	episodes, used := "training episodes", ""
	if c.Episodes == 1 {
		episodes = "training episode"
	}
	if p.Data.Short > 0 {
		used = fmt.Sprintf(", of which %d are shorter than the window and not used", p.Data.Short)
	}
	own := p.Data.Dataset().Spec
	return fmt.Sprintf("%s: %s %s of up to %s steps%s; %s and %s, %s", p.Data.Files, terminal.Group(c.Episodes), episodes,
		terminal.Group(c.Length), used,
		terminal.Count(own.Observation, "channel"), terminal.Count(own.Control, "control"),
		terminal.Bytes(int64(len(p.Data.Encoded))))
}

// brokerText says who reaches the broker.
func brokerText(listen string) string {
	if listen == "" {
		return "in this process only"
	}
	return "listening on " + listen
}

// every says how often something happens; 0 is at the end alone.
func every(what string, steps uint64) string {
	if steps == 0 {
		return what + " at the end"
	}
	return fmt.Sprintf("%s every %s", what, terminal.Group(steps))
}

// tooLarge is the number of parameters for each value above which a model learns the data by heart. It is a warning,
// not a law: early stopping and the noise of a variational model help.
const tooLarge = 10

// smallModel is the number of parameters below which no model is called too large: networks of eight units, the least
// that is suggested, have about so many.
const smallModel = 2000

// oversized says that a model has too many parameters for the values that it is trained on; empty if it has not.
func oversized(parameters, values int) string {
	if values < 1 || parameters <= max(tooLarge*values, smallModel) {
		return ""
	}
	return fmt.Sprintf("%s parameters for %s values: it can learn them by heart; take a smaller model, as data info "+
		"suggests, and train.patience",
		terminal.Group(parameters), terminal.Group(values))
}
