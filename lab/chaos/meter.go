package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"github.com/switchyard-ml/switchyard/store"
)

// meter counts what the coordinators of a run do. Each coordinator counts from its own start, and is told apart
// by its Term. Its counters are read from its page, once a second and just before it is killed.
type meter struct {
	url    string
	client http.Client
	terms  map[uint64]counters
}

// counters are those of one coordinator, as the page has them.
type counters struct {
	Issued       uint64 `json:"shards_issued"`
	Useful       uint64 `json:"shards_useful"`
	Speculations int64  `json:"speculations"`
	Reissued     int64  `json:"reissued"`
	Repeated     int64  `json:"steps_repeated"`
	Summed       int64  `json:"steps_summed"`
	Audits       int64  `json:"audits"`
	Disputes     int64  `json:"disputes"`
	Rollbacks    int64  `json:"rollbacks"`
	CutOff       int64  `json:"cut_off"`
}

// newMeter makes a meter of the run of that name at a page (host:port).
func newMeter(page, name string) *meter {
	return &meter{
		url: "http://" + page + "/api/runs/" + name, client: http.Client{Timeout: 500 * time.Millisecond},
		terms: make(map[uint64]counters),
	}
}

// read asks the coordinator for its counters, for half a second at most. If it does not answer, the last answer
// of its Term stays, and a later call asks again.
func (m *meter) read(ctx context.Context) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, m.url, nil)
	if err != nil {
		return
	}
	answer, err := m.client.Do(request)
	if err != nil {
		return
	}
	defer answer.Body.Close()
	var run struct {
		Live *struct {
			Term uint64 `json:"term"`
			counters
		} `json:"live"`
	}
	if json.NewDecoder(answer.Body).Decode(&run) == nil && run.Live != nil {
		m.terms[run.Live.Term] = run.Live.counters
	}
}

// working reports whether a worker has computed something that became part of the run.
func (m *meter) working() bool {
	for _, c := range m.terms {
		if c.Useful > 0 {
			return true
		}
	}
	return false
}

// effects is the sum over all coordinators.
func (m *meter) effects() (e Effects) {
	for _, c := range m.terms { // the order does not matter
		e.Repeated += c.Repeated
		e.Summed += c.Summed
		e.Reissued += c.Reissued
		e.Speculated += c.Speculations
		e.Audits += c.Audits
		e.Disputes += c.Disputes
		e.Rollbacks += c.Rollbacks
		e.Quarantined += c.CutOff
	}
	return e
}

// issued is the number of shards leased by all coordinators. At the end of the run, the counter of the last one
// is in the run's metrics, and is used if it is greater than what was read.
func (m *meter) issued(info store.Info) uint64 {
	var n, last uint64
	for term, c := range m.terms {
		n += c.Issued
		last = max(last, term)
	}
	if end := uint64(info.Metrics["shards_issued"]); end > m.terms[last].Issued {
		n += end - m.terms[last].Issued
	}
	return n
}

// useful counts the shards that the parameters of the last checkpoint are made of, and those of the validations
// up to it:
//
//	Shards·(step/Stride) + Validation·validations
func (k *conductor) useful(info store.Info) (uint64, error) {
	var validations uint64
	err := store.ReadMetrics(filepath.Join(k.cfg.Folder, "runs"), k.cfg.Name, func(r store.Record) error {
		if r.Split == "validation" && r.Step <= info.Checkpoint {
			validations++
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("count the validations: %w", err)
	}
	return uint64(k.cfg.Shards)*(info.Checkpoint/k.cfg.Stride) + uint64(k.cfg.Validation)*validations, nil
}
