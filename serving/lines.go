package serving

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/internal/number"
	"github.com/switchyard-ml/switchyard/trained"
)

// maxLine is the longest line of an observation.
const maxLine = 1 << 20

// lineRequest is a line of filter --in -: an observation alone, or with its controls.
type lineRequest struct {
	Observation []Number  `json:"observation"`
	Controls    []float64 `json:"controls,omitempty"`
}

// Line is the answer to each of them.
type Line struct {
	Step     int      `json:"step"`
	Mean     []Number `json:"mean"`
	SD       []Number `json:"sd"`
	Weights  []Number `json:"weights"`
	Expected []Number `json:"expected"`
}

// Lines filters observations as they come, a JSON line each: [1.2, null], or {"observation": [1.2, null],
// "controls": [0.5]}. Each is answered by a JSON line before the next one is read.
func Lines(run *trained.Run, in io.Reader, to io.Writer) error {
	online, err := run.Online()
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	out := json.NewEncoder(to)
	state := &trained.State{}
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" {
			continue
		}
		fault := func(err error) error {
			return &files.Error{
				File: "stdin", Place: fmt.Sprintf("line %d", n), Problem: err.Error(),
				Remedy: `write a line for each step: [1.2, null] or {"observation": [1.2, null], "controls": [0.5]}`,
			}
		}
		var q lineRequest
		if strings.HasPrefix(text, "[") {
			err = json.Unmarshal([]byte(text), &q.Observation)
		} else {
			err = Decode(strings.NewReader(text), &q)
		}
		if err != nil {
			return fault(err)
		}
		o := trained.Observation{Values: number.Floats(q.Observation), Controls: q.Controls}
		if err := online.Step([]*trained.State{state}, []trained.Observation{o}); err != nil {
			return fault(err)
		}
		if err := out.Encode(Line{
			state.Steps, number.List(state.Mean), number.List(state.SD),
			number.List(state.Weights), number.List(state.Expected),
		}); err != nil {
			return fmt.Errorf("write the output: %w", err)
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return &files.Error{File: "stdin", Problem: fmt.Sprintf("a line is longer than %d bytes", maxLine)}
	} else if err != nil {
		return fmt.Errorf("read the observations: %w", err)
	}
	return nil
}
