package bench

import (
	"encoding/json"
	"fmt"
	"io"
)

// record is one measurement, or a fact about the sitting. Its kind says which fields it has. Times are in seconds
// where a field says nothing else.
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
	Round     int       `json:"round"`
	Step      timedStep `json:"step"`
	Preset    string    `json:"preset"`
	Switching string    `json:"switching"`
	CoreType  string    `json:"coretype"`
	Setting   string    `json:"setting"` // threads or processes
	Seconds   Spread    `json:"step_seconds"`

	Wire    Wire     `json:"wire"`
	Kernels []Kernel `json:"kernels"`

	// profile
	Function     string  `json:"function"`
	Milliseconds float64 `json:"milliseconds"`
	Share        float64 `json:"share"` // per cent

	// scale and link
	Scale    predictions   `json:"scale"`
	Link     string        `json:"link"`     // empty: all on one machine
	Exchange string        `json:"exchange"` // of steps over links, and of a prediction for them
	Workers  int           `json:"workers"`
	Steps    []stepMetrics `json:"steps"`

	Command string  `json:"command"`
	Took    float64 `json:"seconds"`
}

// timedStep is what `bench step --json` prints.
type timedStep struct {
	Preset    string `json:"preset"`
	Switching string `json:"switching"`
	ISA       string `json:"kernels"`
	Step
}

// WriteReport writes in Markdown what the records say, a JSON list: the report of a sitting, which
// docs/bench/run.sh measures, or, if they have predictions, those of docs/bench/scaling.sh beside what was
// measured. It returns an error for records that say too little. All of in is read before anything is written.
func WriteReport(out io.Writer, in io.Reader) error {
	var records []record
	if err := json.NewDecoder(in).Decode(&records); err != nil {
		return fmt.Errorf("read the records: %w", err)
	}
	write := report
	if len(of(records, "scale")) > 0 {
		write = comparison
	}
	text, err := write(records)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(out, text); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}
