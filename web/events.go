package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/switchyard-ml/switchyard/store"
)

// Limits on a stream of events.
const (
	eventTimeout = 10 * time.Second // for the client to accept an event
	aliveEvery   = 15 * time.Second // between comments, which keep proxies from closing the connection
	// most records that are sent after a reconnection; if there are more, the client loads the metrics again
	maxBacklog   = 5000
	eventRecords = 200 // records per event
)

// stream is a client of server-sent events. One goroutine writes to it.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	sent    time.Time // when something was last sent
}

// send writes one event; with an empty id, the client keeps the last one. The data must be one line.
func (c *stream) send(event, id string, data []byte) error {
	var b bytes.Buffer
	if id != "" {
		fmt.Fprintf(&b, "id: %s\n", id)
	}
	fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", event, data)
	return c.write(b.Bytes())
}

// write sends a text at once. It returns an error if the client does not take it in time.
func (c *stream) write(text []byte) error {
	if err := c.control.SetWriteDeadline(time.Now().Add(eventTimeout)); err != nil {
		return err
	}
	if _, err := c.w.Write(text); err != nil {
		return err
	}
	c.sent = time.Now()
	return c.control.Flush()
}

// events sends changes until the client or the server ends. For all runs, events "runs" have the rows of the table that
// changed. For one run, events "run" have its state, and "records" have new metrics, after Last-Event-ID, with their
// position as id. "back" says that the run returned to an earlier step. "reload" says that the client missed too much,
// and ends the events: the client loads the metrics, and goes on from their position.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	ctx, leave := s.streams.enter(r)
	defer leave()
	var next func(*stream) error
	if name := r.URL.Query().Get("run"); name == "" {
		next = s.tableEvents()
	} else {
		var ok bool
		if next, ok = s.runEvents(w, r, name); !ok {
			return
		}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // proxies must not buffer events
	c := &stream{w: w, control: http.NewResponseController(w)}
	if err := s.pump(ctx, c, next); err != nil && ctx.Err() == nil {
		s.log.Debug("a client of events is gone", "err", err)
	}
}

// pump calls next repeatedly. The first call is at once, the others follow at intervals, until next returns an error
// or ctx ends. A client to whom nothing was sent for long gets a comment.
func (s *Server) pump(ctx context.Context, c *stream, next func(*stream) error) error {
	tick := time.NewTicker(s.poll)
	defer tick.Stop()
	for {
		if err := next(c); err != nil {
			return err
		}
		if time.Since(c.sent) > aliveEvery {
			if err := c.write([]byte(": alive\n\n")); err != nil {
				return err
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// tableEvents sends the rows that changed since they were last sent, and the order of all rows.
func (s *Server) tableEvents() func(*stream) error {
	sent := map[string]string{}
	var order, keys []byte
	return func(c *stream) error {
		all, err := s.overview()
		if err != nil {
			return err
		}
		changed := struct {
			Order []string          `json:"order"`
			Runs  []json.RawMessage `json:"runs"`
			Keys  []Key             `json:"keys,omitempty"`
		}{[]string{}, []json.RawMessage{}, all.Keys}
		known := make(map[string]string, len(all.Runs)) // the client forgets rows that are gone
		for _, run := range all.Runs {
			row, err := json.Marshal(run)
			if err != nil {
				return err
			}
			last := sent[run.Name]
			if last != string(row) {
				last = string(row)
				changed.Runs = append(changed.Runs, row)
			}
			known[run.Name] = last
			changed.Order = append(changed.Order, run.Name)
		}
		sent = known
		names, err := json.Marshal(changed.Order)
		of, errKeys := json.Marshal(changed.Keys)
		if err := errors.Join(err, errKeys); err != nil || len(changed.Runs) == 0 && bytes.Equal(names, order) &&
			bytes.Equal(of, keys) {
			return err
		}
		order, keys = names, of
		data, err := json.Marshal(changed)
		if err != nil {
			return err
		}
		return c.send("runs", "", data)
	}
}

// runEvents sends the state of one run when it changes, and its new records. Records begin after Last-Event-ID, or,
// for a client that has just loaded the metrics, with the next step. If there is no such run, it sends the answer
// and returns false.
func (s *Server) runEvents(w http.ResponseWriter, r *http.Request, name string) (func(*stream) error, bool) {
	run, err := s.config.Source.Run(name)
	if err != nil {
		s.fail(w, "look for the run", name, err)
		return nil, false
	}
	var from store.Position
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		if from, err = store.ParsePosition(id); err != nil {
			writeError(w, http.StatusBadRequest, "Last-Event-ID is not one of this server")
			return nil, false
		}
	} else {
		from = store.Position{Step: s.summarize(run).Step + 1} // only new records
	}
	tail, err := store.Follow(s.config.Dir, name, from)
	if err != nil {
		s.fail(w, "read the metrics", name, err)
		return nil, false
	}
	began := run.Started
	var state []byte
	fresh := true
	return func(c *stream) error {
		run, err := s.config.Source.Run(name)
		switch {
		case errors.Is(err, store.ErrNotFound):
			return errors.Join(c.send("gone", "", []byte("{}")), err)
		case err != nil:
			return err
		case !run.Started.Equal(began): // another run has the name
			return errors.Join(c.send("reload", "", []byte("{}")), errTooFar)
		}
		latest, err := json.Marshal(s.summarize(run))
		if err != nil {
			return err
		}
		if !bytes.Equal(latest, state) {
			state = latest
			if err := c.send("run", "", state); err != nil {
				return err
			}
		}
		// Only the first look can find a client far behind.
		limit := maxBacklog
		if !fresh {
			limit = 0
		}
		fresh = false
		return sendRecords(c, tail, limit)
	}, true
}

// sendRecords sends all new records of a tail, in events of eventRecords. If limit is positive and there are more
// records than that, it sends a request to reload instead, and returns errTooFar.
func sendRecords(c *stream, tail *store.Tail, limit int) error {
	var all []store.Record
	for {
		records, back, err := tail.Next(eventRecords)
		if err != nil {
			return err
		}
		// What was not sent yet is void, too.
		if back {
			all = nil
			data := fmt.Appendf(nil, `{"step":%d}`, tail.Position().Step)
			if err := c.send("back", tail.Position().String(), data); err != nil {
				return err
			}
			continue
		}
		all = append(all, records...)
		if limit > 0 && len(all) > limit {
			return errors.Join(c.send("reload", "", []byte("{}")), errTooFar)
		}
		if limit == 0 || len(records) < eventRecords {
			if err := sendBatch(c, all, tail.Position()); err != nil {
				return err
			}
			all = nil
		}
		// Fewer than asked for: the tail has come to the end.
		if len(records) < eventRecords {
			return nil
		}
	}
}

// errTooFar ends the events of a client that has to load the metrics again.
var errTooFar = errors.New("web: the client is too far behind")

// sendBatch sends records as one event, whose id is the position behind them; none for no records.
func sendBatch(c *stream, records []store.Record, at store.Position) error {
	if len(records) == 0 {
		return nil
	}
	data, err := json.Marshal(records)
	if err != nil {
		return err
	}
	return c.send("records", at.String(), data)
}
