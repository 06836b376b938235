package ops

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/switchyard-ml/switchyard/store"
)

// Service is the name of the service of a host. Monitoring tools and other hosts find it by that name.
const Service = "switchyard"

// The subjects of the endpoints. One host of a broker answers all of them.
const (
	submitSubject = "switchyard.submit"
	uploadSubject = "switchyard.upload"
	listSubject   = "switchyard.runs.list"
	showSubject   = "switchyard.runs.show"
	stopSubject   = "switchyard.runs.stop"
	sweepSubject  = "switchyard.sweep"
	banSubject    = "switchyard.keys.ban"
	unbanSubject  = "switchyard.keys.unban"
)

// Submission asks for a run. On own data, the data set has to be uploaded before, and Config names its hash.
type Submission struct {
	// Request is a random text. If the answer to a submission is lost, the client sends it again with the same Request,
	// and the host opens no second run. Submissions without Request are different ones, unless Name says otherwise.
	Request string `json:"request,omitempty"`
	// Name is the name of the run. If a run of that name and configuration exists, it is continued. Empty: the host
	// makes a name from the preset.
	Name string `json:"name,omitempty"`

	Config        string          `json:"config"`              // resolved, in YAML
	Overrides     []string        `json:"overrides,omitempty"` // settings on top of the preset
	Command       []string        `json:"command,omitempty"`
	Normalisation json.RawMessage `json:"normalisation,omitempty"` // for a run on own data: the scaling of the data set
}

// Submitted is the answer to a submission. Name is the name of the run, whoever chose it.
type Submitted struct {
	Name  string `json:"name"`
	State State  `json:"state"`
}

// State says what a host has done with a submission. It is not that of the run, see store.State.
type State string

// The states.
const (
	Started  State = "started"  // a new run
	Resumed  State = "resumed"  // a run that was stopped, or had failed, continues
	Running  State = "running"  // the run is already under way
	Finished State = "finished" // the run has ended before
)

// Piece is a part of a data set, from byte Offset on. Hash and Size are those of the whole, in every piece. A Piece
// without Data asks how much of the data set the host has.
type Piece struct {
	Hash   string `json:"hash"` // SHA-256 of the data set, in lower-case hexadecimal digits
	Size   int64  `json:"size"` // of the data set, in bytes
	Offset int64  `json:"offset"`
	Data   []byte `json:"data,omitempty"`
}

// Stored says how many bytes of a data set the host has, from its beginning. The next piece begins there. Complete
// says that all of it is there and has the right hash.
type Stored struct {
	Have     int64 `json:"have"`
	Complete bool  `json:"complete"`
}

// Run is a run as its host knows it: the content of run.json and, in Live, what only the process that leads it
// knows, in the form of the page's API. Live is empty for runs that the host does not lead.
type Run struct {
	store.Info
	Live json.RawMessage `json:"live,omitempty"`
}

// List is a list of runs, the last started first. LeftOut is the number of runs, the oldest ones, that did not fit into
// the message.
type List struct {
	Runs    []Run `json:"runs"`
	LeftOut int   `json:"left_out,omitempty"`
	Bans    []Ban `json:"bans,omitempty"`
}

// Ban is a key whose workers are not heard. In a request, only the key counts, and for a ban the reason.
type Ban struct {
	Key    string    `json:"key"`
	Since  time.Time `json:"since,omitzero"`
	Reason string    `json:"reason,omitempty"`
}

// Changed says whether a request has changed something.
type Changed struct {
	Changed bool `json:"changed"`
}

// name is the request about one run.
type name struct {
	Name string `json:"name"`
}

// Codes of errors, as in HTTP. A client that gets Unavailable may ask again later; the others stay the same until
// somebody acts.
const (
	BadRequest  = "400" // the request itself is wrong
	NotFound    = "404" // there is no such run
	Conflict    = "409" // the state of the run does not allow it, or another run has its name
	Unavailable = "503" // try again later
	Failed      = "500" // an error of the host
)

// Error is the answer of a host that cannot do what was asked: what is wrong in Text, and what to do in Hint, which
// may be empty. Code is the header of the answer, and the body is the JSON form.
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

// header is the error in one line of at most about a thousand bytes, as the header of a message needs it.
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

// SweepAct is what is asked of a host about sweeps.
type SweepAct string

// The acts.
const (
	SweepSubmit SweepAct = "submit" // begins a sweep, or goes on with the one of that name and spec
	SweepList   SweepAct = "ls"
	SweepShow   SweepAct = "show"
	SweepBest   SweepAct = "best"
	SweepStop   SweepAct = "stop"
	SweepPause  SweepAct = "pause"
	SweepResume SweepAct = "resume"
	SweepExtend SweepAct = "extend"
)

// SweepRequest asks for something about sweeps.
type SweepRequest struct {
	Act         SweepAct          `json:"act"`
	Name        string            `json:"name,omitempty"`
	Spec        string            `json:"spec,omitempty"`        // the sweep file, to submit
	Files       map[string]string `json:"files,omitempty"`       // configuration files that it names, by path
	Environment []string          `json:"environment,omitempty"` // NAME=value, of keys
	Trials      int               `json:"trials,omitempty"`      // more of them, to extend
	From        int               `json:"from,omitempty"`        // trials of a report to leave out, or that there are to extend
	Room        int               `json:"room,omitempty"`        // bytes that an answer may have; 0: any number
}

// SweepAnswer is the answer: JSON, as the act has it. The package sweep/trials has the types.
type SweepAnswer = json.RawMessage
