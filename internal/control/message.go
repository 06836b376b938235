package control

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/switchyard-ml/switchyard/internal/runs"
)

// Service is the name under which a host is found.
const Service = "switchyard"

// The subjects of the endpoints.
const (
	submitSubject = "switchyard.submit"
	uploadSubject = "switchyard.upload"
	listSubject   = "switchyard.runs.list"
	showSubject   = "switchyard.runs.show"
	stopSubject   = "switchyard.runs.stop"
)

// Submission asks for a run.
type Submission struct {
	// Request is a random text. A submission that is sent again with the same Request, because the answer to the first
	// was lost, is the same run. Empty: each is another one, unless Name says otherwise.
	Request string `json:"request,omitempty"`
	// Name is the name of the run. A run of that name and configuration is gone on with. Empty: made from the preset.
	Name string `json:"name,omitempty"`

	Config        string          `json:"config"`              // resolved, as YAML
	Overrides     []string        `json:"overrides,omitempty"` // what was set on top of the preset
	Command       []string        `json:"command,omitempty"`
	Normalisation json.RawMessage `json:"normalisation,omitempty"` // scaling of the data set, for a run on own data
}

// Submitted says what has become of a submission.
type Submitted struct {
	Name  string `json:"name"`
	State State  `json:"state"`
}

// State is what a host has done with a submission.
type State string

// The states.
const (
	Started  State = "started"  // a new run
	Resumed  State = "resumed"  // a run that had been stopped, or had failed, goes on
	Running  State = "running"  // a run that was under way already
	Finished State = "finished" // a run that had ended before
)

// Piece is a part of a data set, or, without Data, the question what is there of it.
type Piece struct {
	Hash   string `json:"hash"` // SHA-256 of the data set, in lower-case hexadecimal digits
	Size   int64  `json:"size"` // of the data set, in bytes
	Offset int64  `json:"offset"`
	Data   []byte `json:"data,omitempty"`
}

// Stored says how many bytes of a data set are there, from its beginning on.
type Stored struct {
	Have     int64 `json:"have"`
	Complete bool  `json:"complete"`
}

// Run is a run with what its host knows beyond its folder, in the form of the page's API.
type Run struct {
	runs.Info
	Live json.RawMessage `json:"live,omitempty"`
}

// List is a list of runs, the latest started first. LeftOut counts the oldest, which did not fit into a message.
type List struct {
	Runs    []Run `json:"runs"`
	LeftOut int   `json:"left_out,omitempty"`
}

// name is the request for one run.
type name struct {
	Name string `json:"name"`
}

// Codes of errors, as in HTTP.
const (
	BadRequest  = "400" // the request itself is wrong
	NotFound    = "404" // there is no such run
	Conflict    = "409" // the run is not in a state for this, or another one has its name
	Unavailable = "503" // not now
	Failed      = "500" // the host could not do it
)

// Error is what a host answers instead of a result: what is wrong, and what to do about it.
type Error struct {
	Code string `json:"code"`
	Text string `json:"error"`
	Hint string `json:"hint,omitempty"`
}

// Error implements error.
func (e *Error) Error() string { return e.Text }

// Errorf makes an Error without a hint.
func Errorf(code, format string, args ...any) *Error {
	return &Error{Code: code, Text: fmt.Sprintf(format, args...)}
}

// header is the error on one line, as headers want it.
func (e *Error) header() string {
	text := e.Text
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	text = strings.Join(strings.Fields(text), " ")
	const most = 1000
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}
