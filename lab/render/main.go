// Command render writes the report of a sitting of measurements: it reads the records that docs/bench/run.sh keeps, a
// JSON list, from standard input, and writes Markdown to standard output. As `render scaling` it compares what
// docs/bench/scaling.sh has measured with the predictions. It measures nothing.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/switchyard-ml/switchyard/lab/bench"
)

// record is one measurement, or a fact about the sitting. Its kind says which fields it has.
type record struct {
	Kind string `json:"kind"` // machine, step, peer, wire, kernels, profile, scale, link, command, end

	// machine
	Day     string `json:"day"`
	CPU     string `json:"cpu"`
	Cores   int    `json:"cores"`
	Kernel  string `json:"kernel"`
	Go      string `json:"go"`
	Torch   string `json:"torch"` // empty: there was no peer
	Load    string `json:"load"`  // average over 1, 5 and 15 minutes: before the sitting, at its end
	Commit  string `json:"commit"`
	Threads int    `json:"threads"`
	Quick   bool   `json:"quick"`

	// step and peer
	Round     int          `json:"round"`
	Step      step         `json:"step"`
	Preset    string       `json:"preset"`
	Switching string       `json:"switching"`
	CoreType  string       `json:"coretype"`
	Setting   string       `json:"setting"` // threads or processes
	Seconds   bench.Spread `json:"step_seconds"`

	Wire    bench.Wire     `json:"wire"`
	Kernels []bench.Kernel `json:"kernels"`

	// profile
	Function     string  `json:"function"`
	Milliseconds float64 `json:"milliseconds"`
	Share        float64 `json:"share"` // per cent

	// scale and link
	Scale    prediction `json:"scale"`
	Link     string     `json:"link"`     // empty: all on one machine
	Exchange string     `json:"exchange"` // of steps over links, and of a prediction for them
	Workers  int        `json:"workers"`
	Steps    []metrics  `json:"steps"`

	Command string  `json:"command"`
	Took    float64 `json:"seconds"`
}

// step is what `bench step --json` prints.
type step struct {
	Preset    string `json:"preset"`
	Switching string `json:"switching"`
	ISA       string `json:"kernels"`
	bench.Step
}

func main() {
	write := report
	if len(os.Args) > 1 && os.Args[1] == "scaling" {
		write = comparison
	}
	if err := run(os.Stdin, os.Stdout, write); err != nil {
		fmt.Fprintln(os.Stderr, "render:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer, report func([]record) (string, error)) error {
	var records []record
	if err := json.NewDecoder(in).Decode(&records); err != nil {
		return fmt.Errorf("read the records: %w", err)
	}
	text, err := report(records)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(out, text); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}
