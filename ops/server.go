package ops

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// Host carries out requests. Its methods are called from several goroutines at the same time. The client gets an error
// that is not an *Error with the code Failed.
type Host interface {
	// Submit opens a run, or finds the run of this submission.
	Submit(Submission) (Submitted, error)
	// Upload stores a part of a data set and returns how much of it is stored.
	Upload(Piece) (Stored, error)
	// Runs returns all runs, the last started first.
	Runs() ([]Run, error)
	// Run returns one run.
	Run(name string) (Run, error)
	// Stop asks a run to write a checkpoint and stop. It returns without waiting for that.
	Stop(name string) error
	// Sweep answers a request about sweeps.
	Sweep(SweepRequest) (SweepAnswer, error)
	// Ban hears the workers with a key no more, until Unban. Both report whether that was not so before.
	Ban(Ban) (Changed, error)
	Unban(Ban) (Changed, error)
	// Bans returns the banned keys.
	Bans() []Ban
}

// ServerConfig describes a server. All fields are needed.
type ServerConfig struct {
	Host    Host
	Version string // of the program
	Log     hclog.Logger
}

// Server answers the requests for a host.
type Server struct {
	service micro.Service
	started time.Time
	log     hclog.Logger
}

// startedKey is the key of a service's metadata with the time of its start, in RFC 3339 with nanoseconds. Hosts
// reads it to tell which of two is older.
const startedKey = "started"

// flushTimeout is the longest wait until the broker knows the endpoints.
const flushTimeout = 2 * time.Second

// Serve answers requests on a connection until Stop is called or the connection is closed. When Serve returns, clients
// can find the service, unless the connection to the broker is lost.
func Serve(conn *nats.Conn, cfg ServerConfig) (*Server, error) {
	s := &Server{started: time.Now().UTC(), log: cfg.Log}
	service, err := micro.AddService(conn, micro.Config{
		Name: Service, Version: semantic(cfg.Version),
		Description: "trains switching linear dynamical systems: submit runs, follow and stop them",
		Metadata:    map[string]string{"version": cfg.Version, startedKey: s.started.Format(time.RFC3339Nano)},
	})
	if err != nil {
		return nil, fmt.Errorf("offer the service %s: %w", Service, err)
	}
	s.service = service
	if err := s.endpoints(cfg.Host, int(conn.MaxPayload())); err != nil {
		return nil, errors.Join(fmt.Errorf("offer the service %s: %w", Service, err), service.Stop())
	}
	if err := conn.FlushTimeout(flushTimeout); err != nil {
		s.log.Debug("service not confirmed by the broker", "error", err)
	}
	return s, nil
}

// endpoints offers all endpoints, with examples of request and answer for the standard tools. payload is the largest
// message of the connection, into which a list of runs has to fit.
func (s *Server) endpoints(h Host, payload int) error {
	return errors.Join(
		s.add("submit", submitSubject, "opens a run, or continues the one of that name and configuration",
			`{"config": "resolved configuration, YAML", "name": "optional", "request": "random text, the same when sent again", "overrides": ["key=value"], "command": ["train"], "normalisation": {}}`,
			`{"name": "of the run", "state": "started|resumed|running|finished"}`,
			answer(h.Submit)),
		s.add("upload", uploadSubject, "takes a part of a data set; without data: says how much of it is stored",
			`{"hash": "SHA-256 of the whole, hexadecimal", "size": 0, "offset": 0, "data": "base64"}`,
			`{"have": 0, "complete": false}`,
			answer(h.Upload)),
		s.add("runs-list", listSubject, "lists the runs, the latest first", `nothing`,
			`{"runs": [{"name": "", "state": "running|finished|interrupted|failed|lost", "step": 0, "steps": 0}], "left_out": 0}`,
			answer(func(struct{}) (List, error) { return list(h, payload) })),
		s.add("runs-show", showSubject, "shows one run", `{"name": "of the run"}`,
			`{"name": "", "state": "", "step": 0, "steps": 0, "params_sha256": "", "live": {"workers": [], "waiting": ""}}`,
			answer(func(r name) (Run, error) { return h.Run(r.Name) })),
		s.add("runs-stop", stopSubject, "lets a run write a checkpoint and stop; submit it again to continue",
			`{"name": "of the run"}`, `{}`,
			answer(func(r name) (struct{}, error) { return struct{}{}, h.Stop(r.Name) })),
		s.add("sweep", sweepSubject, "begins sweeps, shows them and gives them orders",
			`{"act": "submit|ls|show|best|stop|pause|resume|extend", "name": "of the sweep", "spec": "sweep file, YAML", "files": {}, "environment": [], "trials": 0, "from": 0, "room": 0}`,
			`ls: [sweep]; show: report, with as many trials as have room; best: {"trials": []}; else: {"name": "", "state": ""}`,
			answer(h.Sweep)),
		s.add("keys-ban", banSubject, "hears the workers with a key no more, also after a restart",
			`{"key": "the first 12 characters of its public part", "reason": "for people"}`, `{"changed": true}`,
			answer(h.Ban)),
		s.add("keys-unban", unbanSubject, "hears the workers with a key again",
			`{"key": "the first 12 characters of its public part"}`, `{"changed": true}`,
			answer(h.Unban)),
	)
}

// add offers one endpoint, with its description for the standard tools. handle gets the body of the request; what it
// returns is sent as JSON, its error by refuse.
func (s *Server) add(endpoint, subject, what, request, response string, handle func(data []byte) (any, error)) error {
	return s.service.AddEndpoint(endpoint, micro.HandlerFunc(func(r micro.Request) {
		result, err := handle(r.Data())
		if err != nil {
			s.refuse(r, err)
			return
		}
		if err := r.RespondJSON(result); err != nil { // for example if it does not fit into a message
			s.refuse(r, err)
		}
	}), micro.WithEndpointSubject(subject), micro.WithEndpointMetadata(map[string]string{
		"description": what, "request": request, "response": response,
	}))
}

// refuse answers with an error. One that is not an *Error is logged: the host did not expect it, and its client
// cannot mend it.
func (s *Server) refuse(r micro.Request, err error) {
	var e *Error
	if !errors.As(err, &e) {
		s.log.Warn("request failed", "subject", r.Subject(), "error", err)
		e = &Error{Code: Failed, Text: err.Error()}
	}
	data, err := json.Marshal(e)
	if err == nil {
		err = r.Error(e.Code, e.header(), data)
	}
	if err != nil {
		s.log.Debug("answer lost", "subject", r.Subject(), "error", err)
	}
}

// answer makes an endpoint of a function. It decodes the request, which may be empty. Members that Q does not have
// are ignored, so that newer clients can say more.
func answer[Q, A any](do func(Q) (A, error)) func([]byte) (any, error) {
	return func(data []byte) (any, error) {
		var request Q
		if len(data) > 0 {
			if err := json.Unmarshal(data, &request); err != nil {
				return nil, &Error{
					Code: BadRequest, Text: fmt.Sprintf("the request is not the JSON that this endpoint takes: %v", err),
					Hint: "see `nats micro info " + Service + "`, and use the same release on both sides",
				}
			}
		}
		return do(request)
	}
}

// list returns as many runs as fit into a message of payload bytes, the first ones of the host, beside all banned
// keys. Some room is left for the rest of the message.
func list(h Host, payload int) (List, error) {
	all, err := h.Runs()
	if err != nil {
		return List{}, err
	}
	bans := h.Bans()
	data, err := json.Marshal(bans)
	if err != nil {
		return List{}, fmt.Errorf("encode the banned keys: %w", err)
	}
	room := payload - 4096 - len(data)
	for i, r := range all {
		data, err := json.Marshal(r)
		if err != nil {
			return List{}, fmt.Errorf("encode run %s: %w", r.Name, err)
		}
		if room -= len(data) + 1; room < 0 {
			return List{Runs: all[:i], LeftOut: len(all) - i, Bans: bans}, nil
		}
	}
	return List{Runs: append([]Run{}, all...), Bans: bans}, nil
}

// Identity tells this service from others.
func (s *Server) Identity() Identity {
	info := s.service.Info()
	return Identity{ID: info.ID, Version: info.Metadata["version"], Started: s.started}
}

// Stop ends the service. It still answers the requests that have arrived. Clients that come later find no host.
func (s *Server) Stop() error {
	if err := s.service.Stop(); err != nil {
		return fmt.Errorf("end the service %s: %w", Service, err)
	}
	return nil
}

// semanticVersion is the form of versions that the micro protocol accepts.
var semanticVersion = regexp.MustCompile(`^v?((0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-[0-9A-Za-z-]+)?)$`)

// semantic is a version in that form, without a v; what has another form becomes 0.0.0-dev. The metadata have the
// version as it is.
func semantic(version string) string {
	if m := semanticVersion.FindStringSubmatch(version); m != nil {
		return m[1]
	}
	return "0.0.0-dev"
}
