package cmd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/cluster"
	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/lead"
	"github.com/switchyard-ml/switchyard/ops"
)

// How a command asks a coordinator: ask connects to the broker, reach waits for the connection, a client of package
// ops sends the request, and answered makes of its error one with a hint.

// Time limits of a command that asks a coordinator.
const (
	reachLimit  = 5 * time.Second  // until the broker answers
	refuseLimit = time.Second      // until a broker that has refused the connection accepts it
	answerLimit = 10 * time.Second // until the coordinator answers
	openLimit   = 2 * time.Minute  // until the coordinator has opened a run
)

// ask connects to a broker and calls do with a client for its coordinator. A signal ends the context of do. Errors
// are those of the command line, with hints; see answered.
func (a *app) ask(link connection, do func(ctx context.Context, client *ops.Client) error) error {
	return a.askUntil(link, "stopping", do)
}

// askUntil is ask; ending is said when the user interrupts it. Of several causes it returns the one that explains
// most: a key of another role before the missing answer that follows from it.
func (a *app) askUntil(link connection, ending string, do func(ctx context.Context, client *ops.Client) error) error {
	bus, err := link.connect("operator", a.logger(a.err, hclog.Warn).Named("broker"))
	if err != nil {
		return err
	}
	defer bus.Close()
	return a.untilSignal(a.err, ending, func(ctx context.Context) error {
		if err := reach(ctx, bus, link.url); err != nil {
			return err
		}
		// ctx ends at a signal, asking also when the broker refuses; the errors below are told apart by that.
		asking, cancel := untilDenied(ctx, bus)
		defer cancel()
		err := do(asking, ops.NewClient(bus.Conn()))
		if err == nil {
			return nil
		}
		if wrong := lead.WrongRole(bus, "operator"); wrong != nil {
			return wrong
		}
		if ctx.Err() != nil && errors.Is(err, ops.ErrNoHost) {
			return errors.New("interrupted before the coordinator answered")
		}
		return a.answered(link, err)
	})
}

// untilDenied returns a context that also ends when the broker refuses the request for lack of permission. The
// broker reports that separately, and no answer to the request follows: without this, the command would wait until
// its limit. The caller must cancel the context, which ends the goroutine behind it.
func untilDenied(ctx context.Context, bus *cluster.Bus) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		ticker := time.NewTicker(20 * time.Millisecond)
		defer ticker.Stop()
		for bus.Denied() == nil {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
		}
	}()
	return ctx, cancel
}

// reach waits for the connection to the broker. It gives up after reachLimit if the broker is silent, and after
// refuseLimit if it answers and does not let the client in, which waiting rarely mends.
func reach(ctx context.Context, bus *cluster.Bus, url string) error {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for began := time.Now(); bus.Trouble() != ""; {
		select {
		case <-ctx.Done():
			return errors.New("interrupted before the broker answered")
		case <-ticker.C:
		}
		trouble, waited := bus.Trouble(), time.Since(began)
		silent := strings.Contains(trouble, "does not answer") // otherwise the log has the hint
		if trouble != "" && (waited > reachLimit || waited > refuseLimit && !silent) {
			err := fmt.Errorf("no connection to %s: %s", url, trouble)
			if silent {
				err = config.Hint(err, "look whether that is the address and whether the broker runs there; switchyard broker "+
					"starts one")
			}
			return err
		}
	}
	return nil
}

// answered turns the error of a request into an error of the command line, with the hint of the coordinator. A
// request that is wrong in itself, names no run or conflicts with one is a usage error; a failure of the
// coordinator is none.
func (a *app) answered(link connection, err error) error {
	var e *ops.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ops.ErrNoHost):
		return config.Hint(fmt.Errorf("no coordinator answers at %s", link.url), "start one with: %s",
			a.command("coordinator", "--nats", link.url))
	case !errors.As(err, &e):
		return err
	}
	switch e.Code {
	case ops.BadRequest, ops.NotFound, ops.Conflict:
		err = config.Usage(err)
	}
	if e.Hint != "" {
		return config.Hint(err, "%s", e.Hint)
	}
	return err
}

// remotely is a command line for the coordinator at this broker. Flags whose values the environment has anyway are
// left out.
func (a *app) remotely(link connection, arguments ...string) string {
	if link.url != a.getenv(natsVariable) {
		arguments = append(arguments, "--nats", link.url)
	}
	if link.nkey != a.getenv(nkeyVariable) {
		arguments = append(arguments, "--nkey", link.nkey)
	}
	if link.ca != a.getenv(caVariable) {
		arguments = append(arguments, "--tls-ca", link.ca)
	}
	return a.command(arguments...)
}
