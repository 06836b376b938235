package serving

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// Name is that of the service. All served runs have it; the run is in its metadata.
const Name = "switchyard-model"

// Subject is that of a question to a run. question is filter, forecast or forget.
func Subject(run, question string) string { return "switchyard.model." + run + "." + question }

// overNATS answers on a connection until the context ends. Each request is answered on a goroutine of its own; those
// that are under way when the context ends get ErrClosed or ErrGone. The body of forget is the name of the client as
// it is, no JSON. An error has the code of Status.
func (s *Service) overNATS(ctx context.Context, conn *nats.Conn) error {
	run := s.about.Run
	if n := servers(conn, run); n > 0 {
		s.log.Warn("other servers answer for the same run at this broker: requests are shared among them, and each keeps "+
			"the states of the clients that it has heard; serve a copy under another name, or end the others",
			"run", run, "servers", n)
	}
	service, err := micro.AddService(conn, micro.Config{
		Name: Name, Version: "1.0.0", Description: "filters and forecasts with the trained model of run " + run,
		Metadata: map[string]string{"run": run},
	})
	if err != nil {
		return fmt.Errorf("offer the service %s: %w", Name, err)
	}
	add := func(question string, answer func(data []byte) (any, error)) error {
		return service.AddEndpoint(question, micro.HandlerFunc(func(r micro.Request) {
			fail := func(err error) {
				s.metrics.failed.Add(1)
				_ = r.Error(strconv.Itoa(Status(err)), brief(err), nil) // an error that cannot be sent has no other reader
			}
			leave, err := s.enter(expansion * int64(len(r.Data())))
			if err != nil {
				fail(err)
				return
			}
			go func() { // many clients' requests wait for the same batch
				defer leave()
				y, err := answer(r.Data())
				if err == nil {
					err = respond(conn, r, y)
				}
				if err != nil {
					fail(err)
				}
			}()
		}), micro.WithEndpointSubject(Subject(run, question)))
	}
	err = errors.Join(
		add("filter", func(data []byte) (any, error) {
			var q FilterRequest
			if err := Decode(bytes.NewReader(data), &q); err != nil {
				return nil, err
			}
			// An answer that cannot be sent must not have changed the client.
			if err := fits(conn, s.sizes.text(len(q.Observations))); err != nil {
				return nil, err
			}
			return s.Filter(ctx, q)
		}),
		add("forecast", func(data []byte) (any, error) {
			var q ForecastRequest
			if err := Decode(bytes.NewReader(data), &q); err != nil {
				return nil, err
			}
			return s.Forecast(ctx, q)
		}),
		add("forget", func(data []byte) (any, error) { return struct{}{}, s.Forget(ctx, string(data)) }),
	)
	if err != nil {
		return errors.Join(fmt.Errorf("offer the service %s: %w", Name, err), service.Stop())
	}
	<-ctx.Done()
	return service.Stop()
}

// hearing is how long the servers at a broker have to say which runs they serve.
const hearing = time.Second / 2

// servers counts those that serve a run at the broker already. What cannot be asked, or does not answer, is none.
func servers(conn *nats.Conn, run string) int {
	inbox := conn.NewRespInbox()
	answers, err := conn.SubscribeSync(inbox)
	if err != nil {
		return 0
	}
	defer func() { _ = answers.Unsubscribe() }() // of no use any more
	if err := conn.PublishRequest("$SRV.INFO."+Name, inbox, nil); err != nil {
		return 0
	}
	n, until := 0, time.Now().Add(hearing)
	for {
		m, err := answers.NextMsg(time.Until(until))
		if err != nil { // the time is over, or the broker says that there is none
			return n
		}
		var info micro.Info
		if json.Unmarshal(m.Data, &info) == nil && info.Metadata["run"] == run {
			n++
		}
	}
}

// respond sends an answer as JSON, if it fits into a message.
func respond(conn *nats.Conn, r micro.Request, y any) error {
	text, err := json.Marshal(y)
	if err != nil {
		return err
	}
	if err := fits(conn, len(text)); err != nil {
		return err
	}
	return r.Respond(text)
}

// headers is room for what a message of the broker has beside its text.
const headers = 1024

// fits returns ErrTooLarge for an answer of so many bytes that no message of the broker holds.
func fits(conn *nats.Conn, bytes int) error {
	if most := int(conn.MaxPayload()) - headers; bytes > most {
		return fmt.Errorf("%w: the answer may have %d bytes, and a message of the broker %d; ask for less at a time, or "+
			"over HTTP", ErrTooLarge, bytes, most)
	}
	return nil
}
