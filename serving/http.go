package serving

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/switchyard-ml/switchyard/internal/admission"
	"github.com/switchyard-ml/switchyard/trained"
)

//go:embed openapi.json
var openAPI []byte

// Handler answers over HTTP as openapi.json says. With a token, requests but those for health need it as a bearer
// token; without one, only this machine is answered. Health and readiness need no token. It may be used before Work
// runs, but nothing is answered until then.
func (s *Service) Handler(token string) http.Handler {
	guard := admission.NewGuard(token, refuse)
	mux := http.NewServeMux()
	mux.Handle("POST /v1/filter", guard.JSON(handle(s, s.Filter)))
	mux.Handle("POST /v1/forecast", guard.JSON(handle(s, s.Forecast)))
	mux.HandleFunc("DELETE /v1/clients/{client}", func(w http.ResponseWriter, r *http.Request) {
		s.answer(w, http.StatusNoContent, nil, s.Forget(r.Context(), r.PathValue("client")))
	})
	mux.HandleFunc("GET /v1/clients/{client}", func(w http.ResponseWriter, r *http.Request) {
		y, err := s.Save(r.Context(), r.PathValue("client"))
		s.answer(w, http.StatusOK, y, err)
	})
	mux.Handle("PUT /v1/clients/{client}", guard.JSON(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.read(w, r, func(body io.Reader) (int, any, error) {
			var q ClientState
			if err := Decode(body, &q); err != nil {
				return 0, nil, err
			}
			return http.StatusNoContent, nil, s.Restore(r.Context(), r.PathValue("client"), q)
		})
	})))
	mux.HandleFunc("GET /v1/model", func(w http.ResponseWriter, _ *http.Request) {
		s.answer(w, http.StatusOK, s.about, nil)
	})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		// the client may have gone
		_, _ = fmt.Fprintf(w, "Run %s answers here. /v1/model describes it, /openapi.json all requests.\n", s.about.Run)
	})
	mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(openAPI) // the client may have gone
	})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		s.metrics.write(w, s.limits)
	})
	root := http.NewServeMux()
	root.Handle("GET /healthz", health(s.Healthy))
	root.Handle("GET /readyz", health(s.Ready))
	root.Handle("/", guard.SameSite(guard.Private(refusing(mux))))
	return root
}

// refusing answers what mux has no pattern for as all else that is refused: 404, or 405 with the methods of the path.
func refusing(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h, pattern := mux.Handler(r)
		if pattern != "" {
			mux.ServeHTTP(w, r) // h alone would not know the client of the path
			return
		}
		refused := statusOnly{header: w.Header()}
		h.ServeHTTP(&refused, r)
		message := "there is no " + r.URL.Path + " here: see /openapi.json"
		if allowed := w.Header().Get("Allow"); allowed != "" {
			message = r.URL.Path + " takes " + allowed + ", not " + r.Method
		}
		refuse(w, refused.status, message)
	})
}

// statusOnly is a response of which the status is read, and the header goes on.
type statusOnly struct {
	header http.Header
	status int
}

func (s *statusOnly) Header() http.Header         { return s.header }
func (s *statusOnly) WriteHeader(status int)      { s.status = status }
func (s *statusOnly) Write(p []byte) (int, error) { return len(p), nil }

// health answers ok, or 503 with the reason. The reason is for whoever restarts the service.
func health(check func(context.Context) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := check(r.Context()); err != nil {
			refuse(w, http.StatusServiceUnavailable, err.Error())
			return
		}
		_, _ = io.WriteString(w, "ok\n") // the client may have gone
	})
}

// handle decodes a request, answers it and encodes the answer. The context ends with the connection, so a client
// that goes away does not keep the model busy.
func handle[Q, A any](s *Service, ask func(ctx context.Context, q Q) (A, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.read(w, r, func(body io.Reader) (int, any, error) {
			var q Q
			if err := Decode(body, &q); err != nil {
				return 0, nil, err
			}
			y, err := ask(r.Context(), q)
			return http.StatusOK, y, err
		})
	})
}

// expansion is how many bytes a byte of a request becomes at most: "[0]," is a row of a number, twice. So much is
// taken from the budget before a body is read.
const expansion = 16

// read lets a function answer a request with a body, if there is room for its numbers. What is refused is not read.
func (s *Service) read(w http.ResponseWriter, r *http.Request, answer func(body io.Reader) (int, any, error)) {
	length := r.ContentLength
	if length < 0 {
		// The client does not say how long its body is: the most that is read counts.
		length = s.limits.Bytes
	}
	if length > s.limits.Bytes {
		s.answer(w, 0, nil, fmt.Errorf("%w: %d bytes, at most %d are read", ErrTooLarge, length, s.limits.Bytes))
		return
	}
	leave, err := s.enter(expansion * length)
	if err != nil {
		s.answer(w, 0, nil, err)
		return
	}
	defer leave()
	status, y, err := answer(http.MaxBytesReader(w, r.Body, s.limits.Bytes))
	s.answer(w, status, y, err)
}

// enter takes bytes from the budget of the requests that are read, or returns why there is no room. leave gives them
// back, and is called once. Bodies may take a quarter of the memory together. ErrBusy asks the client to come again.
func (s *Service) enter(bytes int64) (leave func(), err error) {
	if s.pressure.refuses() {
		s.metrics.refused.Add(1)
		s.metrics.late.Add(1)
		return nil, fmt.Errorf("%w: they wait for the processor", ErrBusy)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reading >= s.limits.Waiting || s.readBytes+bytes > s.limits.Memory/4 {
		s.metrics.refused.Add(1)
		return nil, fmt.Errorf("%w: %d requests are already in progress", ErrBusy, s.reading)
	}
	s.reading++
	s.readBytes += bytes
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.reading--
		s.readBytes -= bytes
	}, nil
}

// answer sends an answer, or an error. A nil y has no body. Status says what becomes of an error; its text is sent
// to the client.
func (s *Service) answer(w http.ResponseWriter, status int, y any, err error) {
	if err == nil && y != nil {
		var text []byte
		if text, err = json.Marshal(y); err == nil {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = w.Write(append(text, '\n')) // the client may have gone
			return
		}
	}
	if err != nil {
		s.metrics.failed.Add(1)
		if errors.Is(err, ErrBusy) {
			// Seconds. Those who are refused together should not come back together.
			w.Header().Set("Retry-After", strconv.FormatInt(1+s.metrics.refused.Load()%3, 10))
		}
		refuse(w, Status(err), brief(err))
		return
	}
	w.WriteHeader(status)
}

// Decode reads one JSON object without unknown members. All its errors are ErrRequest.
func Decode(r io.Reader, q any) error {
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	err := d.Decode(q)
	if misplaced := (*json.UnmarshalTypeError)(nil); errors.As(err, &misplaced) {
		return wrong("%s: %s, want %s", cmp.Or(misplaced.Field, "the body"), misplaced.Value, inJSON(misplaced.Type.Kind()))
	}
	if err != nil {
		return wrong("the body is no such JSON object: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return wrong("something follows the JSON object")
	}
	return nil
}

// inJSON is the kind of JSON values that a field takes.
func inJSON(k reflect.Kind) string {
	switch k {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "an array"
	case reflect.Int:
		return "an integer"
	case reflect.Uint64:
		return "an integer of at least 0"
	case reflect.Float32, reflect.Float64:
		return "a number"
	}
	return "an object"
}

// Status is the HTTP status of an error. What is no error of the request or of the moment is 500.
func Status(err error) int {
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large), errors.Is(err, ErrTooLarge):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, ErrState):
		return http.StatusConflict
	case errors.Is(err, ErrRequest), errors.Is(err, trained.ErrSeries):
		return http.StatusBadRequest
	case errors.Is(err, trained.ErrUnable):
		return http.StatusNotImplemented
	case errors.Is(err, ErrBusy), errors.Is(err, ErrClosed), errors.Is(err, ErrGone):
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// brief is the text of an error, or its beginning where it quotes more of a request than people read.
func brief(err error) string {
	const most = 1000
	if text := err.Error(); len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return err.Error()
}

// refuse answers with {"error": message}.
func refuse(w http.ResponseWriter, status int, message string) {
	text, err := json.Marshal(map[string]string{"error": message})
	if err != nil {
		text = []byte(`{"error":"?"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // the client may have gone
}

// Description says what is served: the run, the family of its model, the update and the hash of its parameters, and
// the sizes of what goes in.
type Description struct {
	Run          string   `json:"run"`
	Family       string   `json:"family"`
	Step         uint64   `json:"step"`
	SHA256       string   `json:"params_sha256"` // of the parameters; states belong to them
	Observations []string `json:"observations"`  // names of the channels
	Controls     []string `json:"controls"`
	NX           int      `json:"nx"`          // channels of an observation
	NU           int      `json:"nu"`          // controls
	DT           float64  `json:"dt"`          // between two observations, in the unit of the data; 0: not known
	Incremental  bool     `json:"incremental"` // a filter step costs the same however long a series is
	History      int      `json:"history"`     // last observations that forecasts are made from
}
