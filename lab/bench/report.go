package bench

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The report is made of records alone, one for each measurement, so that it can be written again: see record. Each
// preset and switching is a cell, in which this program and its peer took turns for some rounds.

// report is the whole of a sitting in Markdown: the machine, the training step beside the peer, messages, the
// profile, kernels, and the commands. Parts without records are left out; the machine has to be there.
func report(records []record) (string, error) {
	i := slices.IndexFunc(records, func(r record) bool { return r.Kind == "machine" })
	if i < 0 {
		return "", errors.New("the records do not say which machine they are of: a record of kind machine is needed")
	}
	var b strings.Builder
	writeHead(&b, records[i], of(records, "end"))
	cells := contest(records, "step")
	if len(cells) > 0 {
		writeSteps(&b, cells, records[i].Threads)
		writeSettings(&b, cells)
	}
	writeSmall(&b, contest(records, "small"))
	writeWire(&b, of(records, "wire"))
	if err := writeProfile(&b, of(records, "profile")); err != nil {
		return "", err
	}
	for _, r := range of(records, "kernels") {
		writeKernels(&b, r.Kernels)
	}
	writeCommands(&b, of(records, "command"))
	return b.String(), nil
}

// of are the records of one kind.
func of(records []record, kind string) (out []record) {
	for _, r := range records {
		if r.Kind == kind {
			out = append(out, r)
		}
	}
	return out
}

// writeHead writes what the machine was, and how busy it was before and after.
func writeHead(b *strings.Builder, m record, end []record) {
	fmt.Fprintf(b, "# Measured on %s\n\n", m.Day)
	fmt.Fprintf(b, "%s, %d cores; %s; %s; commit %s. Load average before: %s", m.CPU, m.Cores, m.Kernel, m.Go, m.Commit,
		m.Load)
	if len(end) > 0 {
		fmt.Fprintf(b, "; at the end: %s. The session took %.0f s", end[0].Load, end[0].Took)
	}
	b.WriteString(". Programs took turns. Times are medians over all rounds, with the range in brackets.\n")
	if m.Torch == "" {
		b.WriteString("\nThere was no peer to compare with.\n")
	} else {
		fmt.Fprintf(b, "The peer is PyTorch %s with OpenBLAS.\n", m.Torch)
	}
	if m.Quick {
		b.WriteString("\nA quick look: everything was measured once, and briefly.\n")
	}
}

// cell is one preset and switching: what this program needed for a step, and the peer in each of its settings.
type cell struct {
	preset, switching string
	ours              []timedStep
	peers             []setting
}

// setting is one way to run the peer: in threads of one process or one process for each core, with a core type of
// its library, and the times of a step in each round.
type setting struct {
	kind, coretype string
	rounds         []Spread
}

// contest gathers the records of a kind of steps by preset and switching, in the order in which they were first
// measured. The peer takes part in those of the kind step.
func contest(records []record, kind string) (cells []cell) {
	at := func(preset, switching string) *cell {
		for i := range cells {
			if cells[i].preset == preset && cells[i].switching == switching {
				return &cells[i]
			}
		}
		cells = append(cells, cell{preset: preset, switching: switching})
		return &cells[len(cells)-1]
	}
	for _, r := range records {
		switch {
		case r.Kind == kind:
			c := at(r.Step.Preset, r.Step.Switching)
			c.ours = append(c.ours, r.Step)
		case r.Kind == "peer" && kind == "step":
			c := at(r.Preset, r.Switching)
			i := slices.IndexFunc(c.peers, func(s setting) bool { return s.kind == r.Setting && s.coretype == r.CoreType })
			if i < 0 {
				i = len(c.peers)
				c.peers = append(c.peers, setting{kind: r.Setting, coretype: r.CoreType})
			}
			c.peers[i].rounds = append(c.peers[i].rounds, r.Seconds)
		}
	}
	return cells
}

// over is the spread of several rounds, at least one: the median of their medians, the extremes of their
// extremes.
func over(rounds []Spread) Spread {
	s := Spread{Min: rounds[0].Min, Max: rounds[0].Max}
	var medians []float64
	for _, r := range rounds {
		medians = append(medians, r.Median)
		s.Min, s.Max = min(s.Min, r.Min), max(s.Max, r.Max)
	}
	s.Median = spread(medians).Median
	return s
}

// step is the spread of this program's rounds, and the figures that go with it: medians, but the most allocations.
func (c *cell) step() (s timedStep) {
	var rounds []Spread
	var fractions, rates []float64
	for _, o := range c.ours {
		rounds = append(rounds, o.Seconds)
		fractions = append(fractions, o.PeakFraction)
		rates = append(rates, o.GFLOPS)
		s.AllocsPerStep = max(s.AllocsPerStep, o.AllocsPerStep)
	}
	s.Seconds, s.PeakFraction, s.GFLOPS = over(rounds), spread(fractions).Median, spread(rates).Median
	return s
}

// best is the peer's fastest setting of a kind, by the median of its rounds; "" if it was not run.
func (c *cell) best(kind string) (coretype string, s Spread) {
	for _, p := range c.peers {
		if t := over(p.rounds); p.kind == kind && (coretype == "" || t.Median < s.Median) {
			coretype, s = p.coretype, t
		}
	}
	return coretype, s
}

// writeSteps writes a row for each cell in which this program was measured, with the peer in its best setting of
// each kind. A ratio above 1 says that this program is faster.
func writeSteps(b *strings.Builder, cells []cell, threads int) {
	fmt.Fprintf(b, "\n## The training step\n\nOn %d cores, without messages: forward, backward, sum of the shards, "+
		"clipping and Adam, warm. The peer has its best settings; the ratio is\n"+
		"its median divided by ours. Processes: one per core at the same time, each with its part of the batch; the "+
		"all-reduce between them is not counted.\n\n", threads)
	b.WriteString("| preset | switching | step, s | GFLOP/s | of peak | allocations | peer, threads, s | ratio | peer, " +
		"processes, s | ratio |\n|---|---|---|---|---|---|---|---|---|---|\n")
	for _, c := range cells {
		if len(c.ours) == 0 {
			continue
		}
		o := c.step()
		fmt.Fprintf(b, "| %s | %s | %s | %.0f | %.1f %% | %.1f |", c.preset, c.switching, spreadOf(o.Seconds), o.GFLOPS,
			100*o.PeakFraction, o.AllocsPerStep)
		for _, kind := range []string{"threads", "processes"} {
			if coretype, s := c.best(kind); coretype == "" {
				b.WriteString(" | |")
			} else {
				fmt.Fprintf(b, " %s | %.2f |", spreadOf(s), s.Median/o.Seconds.Median)
			}
		}
		b.WriteString("\n")
	}
}

// spreadOf is a spread of seconds as median (least–greatest).
func spreadOf(s Spread) string { return fmt.Sprintf("%.3f (%.3f–%.3f)", s.Median, s.Min, s.Max) }

// writeSettings lists all settings of the peer, so that the choice of the best can be checked.
func writeSettings(b *strings.Builder, cells []cell) {
	var rows strings.Builder
	for _, c := range cells {
		for _, p := range c.peers {
			fmt.Fprintf(&rows, "| %s | %s | %s | %s | %s | %d |\n", c.preset, c.switching, p.kind, p.coretype,
				spreadOf(over(p.rounds)), len(p.rounds))
		}
	}
	if rows.Len() > 0 {
		b.WriteString("\nAll settings of the peer. The first round tries the core types of OpenBLAS, the others use the " +
			"faster one.\n\n" +
			"| preset | switching | as | core type | step, s | rounds |\n|---|---|---|---|---|---|\n" + rows.String())
	}
}

// writeSmall writes a row for each preset whose steps are too short for a comparison of two cores.
func writeSmall(b *strings.Builder, cells []cell) {
	if len(cells) == 0 {
		return
	}
	b.WriteString("\n## Small steps\n\nThe same on one core, of presets whose steps take milliseconds, with the switch " +
		"that each has.\n\n| preset | switching | step, ms | GFLOP/s | of peak |\n|---|---|---|---|---|\n")
	for _, c := range cells {
		o := c.step()
		fmt.Fprintf(b, "| %s | %s | %.2f (%.2f–%.2f) | %.0f | %.1f %% |\n", c.preset, c.switching, 1e3*o.Seconds.Median,
			1e3*o.Seconds.Min, 1e3*o.Seconds.Max, o.GFLOPS, 100*o.PeakFraction)
	}
}

// writeWire writes a row for each number of workers: a step with and without messages, in seconds, and the bytes
// of a step in MiB.
func writeWire(b *strings.Builder, records []record) {
	if len(records) == 0 {
		return
	}
	b.WriteString("\n## The cost of messages\n\nA maze step of a coordinator and workers with one core each in one " +
		"process, as in `train` (vectors: " + records[0].Wire.Carrier + "), alternating with\n" +
		"the same arithmetic on as many cores without messages.\n\n| workers | step, s | without messages, s | cost | in, " +
		"MiB | out, MiB | each worker, MiB |\n|---|---|---|---|---|---|---|\n")
	for _, r := range records {
		w := r.Wire
		fmt.Fprintf(b, "| %d | %s | %s | %+.1f %% | %.2f | %.2f | %.2f |\n", w.Workers, spreadOf(w.Seconds),
			spreadOf(w.PlainSeconds), 100*w.Overhead,
			w.BytesIn/(1<<20), w.BytesOut/(1<<20), w.PerWorker/(1<<20))
	}
}

// writeKernels writes the summary of the products, and each function.
func writeKernels(b *strings.Builder, list []Kernel) {
	b.WriteString("\n## Kernels\n\nOn one core. Matrix products: geometric mean of the fraction of the FMA peak over " +
		"every pair of the widths 32, 128, 256, 512, 1024, by form and rows;\n" +
		"the .json has every shape.\n\n| form | rows | of peak |\n|---|---|---|\n")
	for _, k := range Summary(list) {
		fmt.Fprintf(b, "| %s | %d | %.1f %% |\n", k.Op, k.M, 100*k.PeakFraction)
	}
	b.WriteString("\n| function | ns per value |\n|---|---|\n")
	for _, k := range list {
		if k.M == 0 {
			fmt.Fprintf(b, "| %s | %.2f |\n", k.Op, k.Nanoseconds)
		}
	}
}

// writeCommands lists the commands, each once.
func writeCommands(b *strings.Builder, records []record) {
	var lines []string
	for _, r := range records {
		if !slices.Contains(lines, r.Command) {
			lines = append(lines, r.Command)
		}
	}
	if len(lines) > 0 {
		fmt.Fprintf(b, "\n## Commands\n\n`docs/bench/run.sh` runs them all:\n\n```\n%s\n```\n", strings.Join(lines, "\n"))
	}
}
