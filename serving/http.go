package serving

import (
	"crypto/sha256"
	"crypto/subtle"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/switchyard-ml/switchyard/trained"
)

//go:embed openapi.json
var openAPI []byte

// bounds are those of the histogram of times, in seconds.
var bounds = []float64{50e-6, 100e-6, 200e-6, 500e-6, 1e-3, 2e-3, 5e-3, 10e-3, 100e-3, 1}

type counters struct {
	steps, forecasts, refused, failed atomic.Int64
	clients                           atomic.Int64
}

// Handler answers over HTTP as openapi.json says. With a token, requests but /healthz need it as a bearer token.
func (s *Service) Handler(token string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/filter", func(w http.ResponseWriter, r *http.Request) {
		handle(s, w, r, func(q FilterRequest) (any, error) { return s.Filter(r.Context(), q) })
	})
	mux.HandleFunc("POST /v1/forecast", func(w http.ResponseWriter, r *http.Request) {
		handle(s, w, r, func(q ForecastRequest) (any, error) { return s.Forecast(r.Context(), q) })
	})
	mux.HandleFunc("DELETE /v1/clients/{client}", func(w http.ResponseWriter, r *http.Request) {
		if err := s.Forget(r.Context(), r.PathValue("client")); err != nil {
			s.fail(w, err)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /v1/model", func(w http.ResponseWriter, _ *http.Request) { send(w, s.Describe()) })
	mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(openAPI) // the client may have gone
	})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		s.metrics.write(w)
	})
	guarded := http.Handler(mux)
	if token != "" {
		guarded = bearer(token, mux)
	}
	root := http.NewServeMux()
	root.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	root.Handle("/", guarded)
	return root
}

// bearer asks for a token.
func bearer(token string, next http.Handler) http.Handler {
	digest := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := sha256.Sum256([]byte(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")))
		if subtle.ConstantTimeCompare(got[:], digest[:]) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			refuse(w, http.StatusUnauthorized, "the token is missing or wrong: send Authorization: Bearer TOKEN")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// handle decodes a request, answers it and encodes the answer.
func handle[Q any](s *Service, w http.ResponseWriter, r *http.Request, answer func(q Q) (any, error)) {
	var q Q
	if err := Decode(http.MaxBytesReader(w, r.Body, s.limits.Bytes), &q); err != nil {
		s.fail(w, err)
		return
	}
	y, err := answer(q)
	if err != nil {
		s.fail(w, err)
		return
	}
	send(w, y)
}

// Decode reads one JSON object without unknown members.
func Decode(r io.Reader, q any) error {
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	if err := d.Decode(q); err != nil {
		return wrong("the body is no such JSON object: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return wrong("something follows the JSON object")
	}
	return nil
}

func send(w http.ResponseWriter, y any) {
	text, err := json.Marshal(y)
	if err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(text, '\n')) // the client may have gone
}

func (s *Service) fail(w http.ResponseWriter, err error) {
	s.metrics.failed.Add(1)
	refuse(w, Status(err), err.Error())
}

// Status is the HTTP status of an error.
func Status(err error) int {
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, ErrRequest), errors.Is(err, trained.ErrSeries):
		return http.StatusBadRequest
	case errors.Is(err, trained.ErrUnable):
		return http.StatusNotImplemented
	case errors.Is(err, ErrBusy), errors.Is(err, ErrClosed):
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

func refuse(w http.ResponseWriter, status int, message string) {
	text, err := json.Marshal(map[string]string{"error": message})
	if err != nil {
		text = []byte(`{"error":"?"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // the client may have gone
}

// Description says what is served.
type Description struct {
	Run          string   `json:"run"`
	Family       string   `json:"family"`
	Step         uint64   `json:"step"`
	SHA256       string   `json:"params_sha256"`
	Observations []string `json:"observations"` // names of the channels
	Controls     []string `json:"controls"`
	NX           int      `json:"nx"`
	NU           int      `json:"nu"`
	DT           float64  `json:"dt"`
	Incremental  bool     `json:"incremental"` // a filter step costs the same however long a series is
	History      int      `json:"history"`     // last observations that forecasts are made from
}

// Describe returns what is served.
func (s *Service) Describe() Description {
	info := s.run.Info()
	d := Description{
		Run: info.Name, Family: s.run.Family(), Step: s.run.Step(), SHA256: info.ParametersSHA256, NX: s.nx, NU: s.nu,
		Incremental: s.online != nil, History: s.limits.History,
	}
	if c, err := s.run.Columns(); err == nil { // names are a convenience
		d.Observations, d.Controls, d.DT = c.Observations, c.Controls, c.DT
	}
	return d
}

// write writes the metrics in the text format of Prometheus.
func (m *Metrics) write(w io.Writer) {
	one := func(name, kind, help string, v int64) {
		fmt.Fprintf(w, "# HELP switchyard_model_%s %s\n# TYPE switchyard_model_%s %s\nswitchyard_model_%s %d\n", name, help,
			name, kind, name, v)
	}
	one("filter_steps_total", "counter", "Observations that were filtered.", m.steps.Load())
	one("forecasts_total", "counter", "Forecasts that were made.", m.forecasts.Load())
	one("refused_total", "counter", "Requests that were refused because too many waited, or too many clients were there.",
		m.refused.Load())
	one("failed_total", "counter", "Requests that were answered with an error.", m.failed.Load())
	one("clients", "gauge", "Clients whose state is held.", m.clients.Load())
	m.mu.Lock()
	defer m.mu.Unlock()
	const name = "switchyard_model_batch_seconds"
	fmt.Fprintf(w, "# HELP %s Time of the requests that were computed together.\n# TYPE %s histogram\n", name, name)
	total := int64(0)
	for i, n := range m.buckets {
		total += n
		bound := "+Inf"
		if i < len(bounds) {
			bound = fmt.Sprint(bounds[i])
		}
		fmt.Fprintf(w, "%s_bucket{le=%q} %d\n", name, bound, total)
	}
	fmt.Fprintf(w, "%s_sum %g\n%s_count %d\n", name, m.sum, name, m.count)
}
