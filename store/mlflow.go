package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/switchyard-ml/switchyard/config"
)

// ErrServer is returned when a server of MLflow does not do what it is asked.
var ErrServer = errors.New("the MLflow server refuses")

// Limits of one request, by MLflow's documentation of runs/log-batch.
const (
	metricsOfBatch = 1000
	paramsOfBatch  = 100
	longestParam   = 500 // characters of a value that every server takes
	longestAnswer  = 1 << 20
)

// MLflow is a server that speaks version 2.0 of MLflow's REST protocol. Client says how long a request may take.
type MLflow struct {
	URL        string // e.g. http://127.0.0.1:5000
	Experiment string // it is created if there is none of that name
	Client     *http.Client
}

type (
	pair struct {
		Key   string `json:"key"`
		Value string `json:"value"`
	}
	point struct {
		Key       string  `json:"key"`
		Value     float64 `json:"value"`
		Timestamp int64   `json:"timestamp"` // milliseconds
		Step      uint64  `json:"step"`
	}
	batch struct {
		Run     string  `json:"run_id"`
		Metrics []point `json:"metrics,omitempty"`
		Params  []pair  `json:"params,omitempty"`
	}
)

// states are MLflow's words for those of a run. A run that was killed counts as failed.
var states = map[State]string{
	Finished: "FINISHED", Failed: "FAILED", Running: "RUNNING", Interrupted: "KILLED",
	Lost: "FAILED",
}

// Send makes a run of the server out of the named run of a folder: its configuration as parameters, its metrics as
// SPLIT/NAME, its state. It returns the server's id of the run. Values that are not finite are left out, as JSON has no
// form for them; their number is returned. Each call makes a new run. Metrics are sent in batches while the file is
// read. If it fails on the way, the run stays on the server, and id names it.
func (m *MLflow) Send(ctx context.Context, dir, name string, c config.Config) (id string, leftOut int, err error) {
	info, err := Load(dir, name)
	if err != nil {
		return "", 0, err
	}
	if id, err = m.create(ctx, info); err != nil {
		return "", 0, err
	}
	for some := range slices.Chunk(params(c), paramsOfBatch) {
		if err := m.post(ctx, "runs/log-batch", batch{Run: id, Params: some}, nil); err != nil {
			return id, 0, err
		}
	}
	var points []point
	flush := func() error {
		defer func() { points = points[:0] }()
		return m.post(ctx, "runs/log-batch", batch{Run: id, Metrics: points}, nil)
	}
	err = ReadMetrics(dir, name, func(r Record) error {
		for _, key := range slices.Sorted(maps.Keys(r.Values)) {
			v := r.Values[key]
			if math.IsNaN(v) || math.IsInf(v, 0) {
				leftOut++
				continue
			}
			if points = append(points, point{
				r.Split + "/" + key, v, r.Time.UnixMilli(),
				r.Step,
			}); len(points) == metricsOfBatch {
				if err := flush(); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err == nil && len(points) > 0 {
		err = flush()
	}
	if err != nil {
		return id, leftOut, err
	}
	end := map[string]any{"run_id": id, "status": states[info.State]}
	if info.State != Running {
		end["end_time"] = info.Updated.UnixMilli()
	}
	return id, leftOut, m.post(ctx, "runs/update", end, nil)
}

// create finds or creates the experiment, and creates a run in it.
func (m *MLflow) create(ctx context.Context, info Info) (string, error) {
	var found struct {
		Experiment struct {
			ID string `json:"experiment_id"`
		} `json:"experiment"`
		ID string `json:"experiment_id"`
	}
	err := m.call(ctx, http.MethodGet, "experiments/get-by-name?experiment_name="+url.QueryEscape(m.Experiment), nil,
		&found)
	experiment := found.Experiment.ID
	if experiment == "" && (err == nil || errors.Is(err, ErrServer)) {
		err = m.post(ctx, "experiments/create", map[string]string{"name": m.Experiment}, &found)
		experiment = found.ID
	}
	if err != nil {
		return "", err
	}
	var made struct {
		Run struct {
			Info struct {
				ID string `json:"run_id"`
			} `json:"info"`
		} `json:"run"`
	}
	tags := []pair{
		{"mlflow.runName", info.Name},
		{"switchyard.params_sha256", info.ParametersSHA256},
		{"switchyard.config_sha256", info.ConfigSHA256},
	}
	err = m.post(ctx, "runs/create", map[string]any{
		"experiment_id": experiment, "run_name": info.Name, "start_time": info.Started.UnixMilli(), "tags": tags,
	}, &made)
	if err == nil && made.Run.Info.ID == "" {
		err = fmt.Errorf("create a run: %w: the answer has no run_id", ErrServer)
	}
	return made.Run.Info.ID, err
}

// params are the keys of a configuration that have an effect. Values are cut to what every server takes.
func params(c config.Config) []pair {
	var list []pair
	for _, p := range c.Values() {
		text := []rune(p.Text)
		list = append(list, pair{p.Key, string(text[:min(len(text), longestParam)])})
	}
	return list
}

// post sends body as JSON and decodes the answer; a nil answer is not wanted.
func (m *MLflow) post(ctx context.Context, path string, body, answer any) error {
	return m.call(ctx, http.MethodPost, path, body, answer)
}

// call sends a request and reads the answer, if one is wanted. path follows /api/2.0/mlflow/. Any status but 200 is
// ErrServer, with the beginning of what the server says.
func (m *MLflow) call(ctx context.Context, method, path string, body, answer any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("ask MLflow for %s: %w", path, err)
	}
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(m.URL, "/")+"/api/2.0/mlflow/"+path,
		bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("ask MLflow for %s: %w", path, err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := m.Client.Do(request)
	if err != nil {
		return fmt.Errorf("ask MLflow for %s: %w", path, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, longestAnswer))
	switch {
	case err != nil:
		return fmt.Errorf("ask MLflow for %s: %w", path, err)
	case response.StatusCode != http.StatusOK:
		return fmt.Errorf("ask MLflow for %s: %w: %s: %.300q", path, ErrServer, response.Status, text)
	case answer == nil:
		return nil
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("ask MLflow for %s: %w: its answer is no JSON: %.100q", path, ErrServer, text)
	}
	return nil
}
