package cmd

import (
	"fmt"
	"io"
	"strings"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/internal/config"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/internal/wire"
)

// plan is what a run will do, known before it does it.
type plan struct {
	config  config.Config
	data    *ownData  // nil: simulated
	theta   []float32 // initial parameters
	layout  []coordinator.Tensor
	terms   []string
	golden  string  // hash of the first shard's gradient at the initial parameters
	flops   float64 // of one step
	memory  int     // of a worker, in bytes
	workers int
	slots   int
	listen  string
	keys    string // folder of keys for the broker
}

// newPlan builds the model once for its initial parameters, and computes one shard
// to count what a step costs.
func newPlan(c config.Config, data *ownData, flags trainFlags) (*plan, error) {
	m, err := newModel(c)
	if err != nil {
		return nil, err
	}
	program, err := newProgram(c, data.dataset(), 1)
	if err != nil {
		return nil, err
	}
	p := &plan{config: c, data: data, terms: program.TermNames(), workers: flags.workers, slots: flags.slots, listen: flags.listen, keys: flags.keys}
	p.theta = append(p.theta, m.Params().Values...)
	for _, t := range m.Params().Layout() {
		p.layout = append(p.layout, coordinator.Tensor{Name: t.Name, Shape: t.Shape, Offset: t.Offset, Size: t.Size})
	}
	if err := program.Load(0, p.theta); err != nil {
		return nil, fmt.Errorf("install the initial parameters: %w", err)
	}
	gradient, terms := make([]float32, len(p.theta)), make([]float32, len(p.terms))
	if err := program.Gradient(0, 0, 0, gradient, terms); err != nil {
		return nil, fmt.Errorf("compute a first shard: %w", err)
	}
	p.golden, p.flops = wire.DigestPartial(gradient, terms), program.Flops()
	p.memory = program.Memory(max(p.slots, 1)).Total()
	if localSteps(c) {
		replicas, err := newReplicas(c, program)
		if err != nil {
			return nil, err
		}
		p.memory = replicas.Memory(max(p.slots, 1)).Total()
	}
	return p, nil
}

// A fact is one line of what a run is.
type fact struct{ name, text string }

// facts say what the run is and will do. folder is empty for a dry run.
func (p *plan) facts(folder string) []fact {
	c := p.config
	if folder == "" {
		folder = "none: a dry run"
	}
	window := "whole"
	if c.Env.Window > 0 {
		window = fmt.Sprintf("windows of %d", c.Env.Window)
	}
	bytes, exchange, unit := terminal.Bytes(int64(4*len(p.theta))), "step", "shards"
	back := bytes
	if coding := gradientCoding(c); coding != wire.Float32 {
		back = terminal.Bytes(int64(coding.Width()*len(p.theta))) + " of integers"
	}
	if localSteps(c) {
		exchange, unit = "round", "replicas"
	}
	return []fact{
		{"run", fmt.Sprintf("%s (preset %s, seed %d)", folder, c.Preset, c.Seed)},
		{"data", p.source() + ", " + window},
		{"model", fmt.Sprintf("%s, %s switches with %s weights, %d systems, %s parameters in %d tensors",
			c.Model.Kind, c.Model.Switching, c.Model.Weights, c.Model.Switches, terminal.Group(len(p.theta)), len(p.layout))},
		{"step", fmt.Sprintf("%d sequences in %d shards, %.3g GFLOP", c.Train.Batch, c.Train.Shards, p.flops/1e9)},
		{"method", p.method()},
		{"traffic", fmt.Sprintf("%s of parameters to each worker per %s, %s back per block of %s", bytes, exchange, back, unit)},
		{"workers", fmt.Sprintf("%d here, %s each, %s kernels", p.workers, terminal.Count(p.slots, "slot"), kernel.Active())},
		{"memory", fmt.Sprintf("about %s of values for each worker", terminal.Bytes(int64(p.memory)))},
		{"broker", "embedded NATS, " + p.door()},
		{"training", fmt.Sprintf("%s steps, %s, %s", terminal.Group(c.Train.Steps),
			every("validation", c.Train.ValidateEvery), every("checkpoint", c.Train.CheckpointEvery))},
	}
}

// method says how the updates are made.
func (p *plan) method() string {
	t := p.config.Train
	if !localSteps(p.config) {
		return "synchronous: one exchange per step"
	}
	return fmt.Sprintf("diloco: rounds of %s of %s, each on %s of a step", terminal.Count(int(t.LocalSteps), "local step"),
		terminal.Count(t.Replicas, "replica"), terminal.Count(t.Shards/t.Replicas, "shard"))
}

// source says where the sequences come from.
func (p *plan) source() string {
	c := p.config.Env
	if p.data == nil {
		return fmt.Sprintf("%s, %s episodes of %d steps", c.Kind, terminal.Group(c.Episodes), c.Length)
	}
	used := ""
	if p.data.short > 0 {
		used = fmt.Sprintf(", of which %d are shorter than the window and not used", p.data.short)
	}
	return fmt.Sprintf("%s: %s training episodes of up to %s steps%s; %s and %s, %s", c.Files, terminal.Group(c.Episodes), terminal.Group(c.Length), used,
		terminal.Count(c.Observations, "channel"), terminal.Count(c.Controls, "control"), terminal.Bytes(int64(len(p.data.encoded))))
}

// writeFacts writes one line per fact.
func writeFacts(w io.Writer, facts []fact) error {
	var b strings.Builder
	for _, f := range facts {
		fmt.Fprintf(&b, "%-9s %s\n", f.name, f.text)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write the plan: %w", err)
	}
	return nil
}

func (p *plan) door() string {
	if p.listen == "" {
		return "in this process only"
	}
	return "listening on " + p.listen
}

func every(what string, steps uint64) string {
	if steps == 0 {
		return what + " at the end"
	}
	return fmt.Sprintf("%s every %s", what, terminal.Group(steps))
}
