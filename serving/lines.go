package serving

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/trained"
)

// maxLine is the longest line of an observation.
const maxLine = 1 << 20

// lineRequest is a line of filter --in -: an observation alone, or with its controls.
type lineRequest struct {
	Observation []Number `json:"observation"`
	Controls    []Number `json:"controls,omitempty"`
}

// Line is the answer to each of them: the latent state given what was observed so far, the weights of the base
// systems, and what the state shows, in the units of the data.
type Line struct {
	Step     int      `json:"step"` // from 1
	Mean     []Number `json:"mean"`
	SD       []Number `json:"sd"`
	Weights  []Number `json:"weights"`
	Expected []Number `json:"expected"`
}

// LinesOptions say by what a stream is scaled, where each recording has a scale of its own.
type LinesOptions struct {
	Of    string // the recording of training; empty: another one
	Begin int    // observations of another one by which it is scaled; 0: it is not known
}

// Lines filters observations as they come, a JSON line each: [1.2, null], or {"observation": [1.2, null],
// "controls": [0.5]}. Each is answered by a JSON line before the next one is read, but for those by which the series is
// scaled, which are answered together. Empty lines are skipped. It returns at the end of in, or at the first error:
// a *files.Error with the line for what cannot be read or filtered. Families that filter whole series only give
// trained.ErrUnable.
func Lines(run *trained.Run, in io.Reader, to io.Writer, o LinesOptions) error {
	online, err := run.Online()
	if err != nil {
		return err
	}
	f := lineFilter{run: run, online: online, state: &trained.State{Of: o.Of}, to: json.NewEncoder(to)}
	if run.Known(o.Of) {
		o.Begin = 0
	} else if o.Begin == 0 {
		return scaleless(run, o.Of)
	}
	f.begin = o.Begin
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" {
			continue
		}
		if err := f.line(n, text); err != nil {
			return err
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return &files.Error{File: "stdin", Problem: fmt.Sprintf("a line is longer than %d bytes", maxLine)}
	} else if err != nil {
		return fmt.Errorf("read the observations: %w", err)
	}
	return f.release() // a stream that ends sooner is scaled by what it had
}

// scaleless is the error for a stream without a scale. It names recordings of training to choose from.
func scaleless(run *trained.Run, of string) error {
	list := run.Scaled()
	const most = 8
	known := strings.Join(list[:min(len(list), most)], ", ")
	if len(list) > most {
		known += ", …"
	}
	problem := "each recording has a scale of its own, and the stream names none"
	if of != "" {
		problem = fmt.Sprintf("each recording has a scale of its own, and training saw no recording %q", of)
	}
	return &files.Error{
		File: "stdin", Problem: problem, Remedy: "name one of training with --recording (" + known + "), or scale another " +
			"series by its first N lines with --begin N: they are answered together",
	}
}

// lineFilter filters a stream, whose state it holds. Lines are held back until there are begin of them, and then it
// has a scale.
type lineFilter struct {
	run    *trained.Run
	online *trained.Online
	state  *trained.State
	to     *json.Encoder
	begin  int // observations that are held back to scale the series by; 0: none any more
	held   []trained.Observation
	places []int // of the lines held back
}

// line answers a line, or holds it back.
func (f *lineFilter) line(n int, text string) error {
	var q lineRequest
	var err error
	if strings.HasPrefix(text, "[") {
		err = json.Unmarshal([]byte(text), &q.Observation)
	} else {
		err = Decode(strings.NewReader(text), &q)
	}
	if err != nil {
		return lineFault(n, err)
	}
	o := trained.Observation{Values: eval.Floats(q.Observation)}
	if q.Controls != nil {
		o.Controls = eval.Floats(q.Controls)
	}
	if f.begin == 0 {
		return f.answer(n, o)
	}
	f.held, f.places = append(f.held, o), append(f.places, n)
	if len(f.held) < f.begin {
		return nil
	}
	return f.release()
}

// release scales the series by the lines held back, and answers them.
func (f *lineFilter) release() error {
	if len(f.held) == 0 {
		return nil
	}
	if err := f.run.Measure(f.state, f.held); err != nil {
		return &files.Error{
			File: "stdin", Place: fmt.Sprintf("line %d", f.places[len(f.places)-1]), Problem: err.Error(),
			Remedy: "scale the series by more lines with a larger --begin, or name a recording of training with --recording",
		}
	}
	for i, o := range f.held {
		if err := f.answer(f.places[i], o); err != nil {
			return err
		}
	}
	f.begin, f.held, f.places = 0, nil, nil
	return nil
}

// answer filters an observation and writes what came of it.
func (f *lineFilter) answer(n int, o trained.Observation) error {
	if err := f.online.Step([]*trained.State{f.state}, []trained.Observation{o}); err != nil {
		return lineFault(n, err)
	}
	if err := f.to.Encode(Line{
		f.state.Steps, eval.NumberList(f.state.Mean), eval.NumberList(f.state.SD),
		eval.NumberList(f.state.Weights), eval.NumberList(f.state.Expected),
	}); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}

// lineFault is the error for a line, from 1.
func lineFault(n int, err error) error {
	return &files.Error{
		File: "stdin", Place: fmt.Sprintf("line %d", n), Problem: err.Error(),
		Remedy: `write a line for each step: [1.2, null] or {"observation": [1.2, null], "controls": [0.5]}`,
	}
}
