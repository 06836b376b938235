package ops

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// ErrNoHost is returned when no host answers. The context of the caller has ended by then, or the broker knows that
// nobody listens, or there is no connection.
var ErrNoHost = errors.New("control: no host answers")

// attempt is how long one request waits for its answer. Then the request is sent again, until the caller's context
// ends.
const attempt = 10 * time.Second

// overhead is the number of bytes that are left free in a message beside its data: for the other members of the
// JSON, and the headers.
const overhead = 2048

// Client sends requests to the host that answers on a connection. It may be used by several goroutines. What the
// host refuses is returned as an *Error, what prevents an answer as ErrNoHost. The connection stays the caller's.
type Client struct {
	conn    *nats.Conn
	attempt time.Duration
}

// NewClient returns a client on a connection, which the caller closes.
func NewClient(conn *nats.Conn) *Client { return &Client{conn, attempt} }

// Submit asks for a run. While no answer comes it sends the request again, always with the same s.Request, so that the
// host does not open a second run. A submission without Request that is sent again may open two runs.
func (c *Client) Submit(ctx context.Context, s Submission) (Submitted, error) {
	return ask[Submitted](ctx, c, submitSubject, s)
}

// Upload brings a data set to the host; it continues where an earlier attempt has stopped. It calls progress, unless
// that is nil, with the number of bytes that the host has. The first request has no data and asks where to begin;
// each answer says where the next piece begins. It returns an error if the host makes no progress in four answers in
// a row, or if a message has no room for data.
func (c *Client) Upload(ctx context.Context, data []byte, progress func(have int64)) error {
	sum := sha256.Sum256(data)
	p := Piece{Hash: hex.EncodeToString(sum[:]), Size: int64(len(data))}
	each := (c.conn.MaxPayload() - overhead) / 4 * 3 // base64 makes four characters of three bytes
	if each < 1 {
		return fmt.Errorf("bring the data set to the host: the broker's payload limit of %d bytes leaves no room",
			c.conn.MaxPayload())
	}
	for stuck := 0; ; {
		s, err := ask[Stored](ctx, c, uploadSubject, p)
		if err != nil {
			return fmt.Errorf("bring the data set to the host: %w", err)
		}
		if progress != nil {
			progress(s.Have)
		}
		if s.Complete {
			return nil
		}
		// A piece may be lost, or taken from another client; but the host has to get on.
		if stuck++; s.Have > p.Offset {
			stuck = 0
		}
		if s.Have < 0 || s.Have >= p.Size || stuck > 3 {
			return fmt.Errorf("bring the data set to the host: it has %d of %d bytes, and takes no more", s.Have, p.Size)
		}
		p.Offset, p.Data = s.Have, data[s.Have:min(s.Have+each, p.Size)]
	}
}

// Runs lists the runs of the host. If they do not fit into one message, the oldest are left out.
func (c *Client) Runs(ctx context.Context) (List, error) {
	return ask[List](ctx, c, listSubject, struct{}{})
}

// Run returns one run of the host. The error for an unknown name has the code NotFound.
func (c *Client) Run(ctx context.Context, run string) (Run, error) {
	return ask[Run](ctx, c, showSubject, name{run})
}

// Stop asks the host to stop a run with a checkpoint. It returns when the host has passed that on, not when the run
// has ended. The code is Conflict for a run that the host does not lead at the moment.
func (c *Client) Stop(ctx context.Context, run string) error {
	_, err := ask[struct{}](ctx, c, stopSubject, name{run})
	return err
}

// Sweep asks the host about sweeps. The answer has to fit into a message, whose size the request tells the host.
func (c *Client) Sweep(ctx context.Context, r SweepRequest) (SweepAnswer, error) {
	r.Room = int(c.conn.MaxPayload()) - overhead
	return ask[SweepAnswer](ctx, c, sweepSubject, r)
}

// Ban asks the host to hear the workers with a key no more. The answer says whether that is new.
func (c *Client) Ban(ctx context.Context, b Ban) (Changed, error) {
	return ask[Changed](ctx, c, banSubject, b)
}

// Unban asks the host to hear the workers with a key again.
func (c *Client) Unban(ctx context.Context, key string) (Changed, error) {
	return ask[Changed](ctx, c, unbanSubject, Ban{Key: key})
}

// ask sends a request until it is answered or ctx ends. Every request can safely be sent twice. No answer in time
// means that it is sent again; nobody to answer ends it at once, with ErrNoHost.
func ask[A any](ctx context.Context, c *Client, subject string, request any) (A, error) {
	var result A
	data, err := json.Marshal(request)
	if err != nil {
		return result, fmt.Errorf("encode the request to %s: %w", subject, err)
	}
	for {
		once, cancel := context.WithTimeout(ctx, c.attempt)
		msg, err := c.conn.RequestWithContext(once, subject, data)
		cancel()
		switch {
		case err == nil:
			return result, read(msg, &result)
		case errors.Is(err, nats.ErrNoResponders), errors.Is(err, nats.ErrReconnectBufExceeded), ctx.Err() != nil:
			return result, fmt.Errorf("%w: %s: %w", ErrNoHost, subject, err)
		case errors.Is(err, nats.ErrMaxPayload):
			return result, fmt.Errorf("ask %s: %w: the request has %d bytes, and a message of this broker at most %d; set "+
				"max_payload of the NATS server to at least %[3]d", subject, err, len(data), c.conn.MaxPayload())
		case !errors.Is(err, context.DeadlineExceeded):
			return result, fmt.Errorf("ask %s: %w", subject, err)
		}
	}
}

// read decodes an answer, or the error that was sent instead. A code without a readable body, as the micro protocol
// itself sends it, becomes an *Error with the text of the header.
func read(msg *nats.Msg, result any) error {
	if code := msg.Header.Get(micro.ErrorCodeHeader); code != "" {
		e := &Error{}
		if json.Unmarshal(msg.Data, e) != nil || e.Text == "" {
			e = &Error{Text: msg.Header.Get(micro.ErrorHeader)}
		}
		e.Code = code
		return e
	}
	if err := json.NewDecoder(bytes.NewReader(msg.Data)).Decode(result); err != nil {
		return fmt.Errorf("read the answer of the host: %w", err)
	}
	return nil
}

// Identity tells one service from another. ID is unique to a start of the service, Version that of the program, and
// Started zero if it does not say.
type Identity struct {
	ID      string
	Version string
	Started time.Time
}

// Before reports whether i is the older of two services. The older one stays if there may be only one. Of two that
// started in the same instant, the order of their ids decides, so that both come to the same result.
func (i Identity) Before(o Identity) bool {
	if !i.Started.Equal(o.Started) {
		return i.Started.Before(o.Started)
	}
	return i.ID < o.ID
}

// Hosts finds the services that answer within a time. It returns at once if the broker knows of none. Otherwise it
// waits for all of that time, as it cannot know how many will answer; when ctx ends earlier, it returns an error,
// unless that is by a deadline.
func Hosts(ctx context.Context, conn *nats.Conn, within time.Duration) ([]Identity, error) {
	subject, err := micro.ControlSubject(micro.PingVerb, Service, "")
	if err != nil {
		return nil, fmt.Errorf("look for hosts: %w", err)
	}
	inbox := conn.NewInbox()
	sub, err := conn.SubscribeSync(inbox)
	if err == nil {
		err = conn.PublishRequest(subject, inbox, nil)
	}
	if err != nil {
		return nil, fmt.Errorf("look for hosts: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	var found []Identity
	for {
		msg, err := sub.NextMsgWithContext(ctx)
		if errors.Is(err, nats.ErrNoResponders) || errors.Is(err, context.DeadlineExceeded) {
			return found, sub.Unsubscribe()
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("look for hosts: %w", err), sub.Unsubscribe())
		}
		var ping micro.Ping
		if json.Unmarshal(msg.Data, &ping) != nil || ping.ID == "" {
			continue
		}
		i := Identity{ID: ping.ID, Version: ping.Metadata["version"]}
		if i.Started, err = time.Parse(time.RFC3339Nano, ping.Metadata[startedKey]); err != nil {
			i.Started = time.Time{} // it exists, whatever its release
		}
		found = append(found, i)
	}
}
