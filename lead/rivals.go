package lead

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/switchyard-ml/switchyard/cluster"
	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/ops"
)

// rivalWait is how long another coordinator of the same broker has to answer. rivalLook is the time between two
// searches for one. The broker reports a missing permission with a delay: within roleWait of the start, such a report
// ends this coordinator.
const (
	rivalWait = time.Second
	rivalLook = 15 * time.Second
	roleWait  = 5 * time.Second
)

// alone offers the service, unless another coordinator of this broker exists: two coordinators would take each other's
// workers. If two start at the same time, the older one stays. It returns no server if ctx ended first.
func (h *Host) alone(ctx context.Context) (*ops.Server, error) {
	found, err := ops.Hosts(ctx, h.bus.Conn(), rivalWait)
	if ctx.Err() != nil {
		return nil, nil
	}
	if err := errors.Join(err, WrongRole(h.bus, "coordinator")); err != nil {
		return nil, err
	}
	if len(found) > 0 {
		return nil, h.rival(found[0])
	}
	server, err := ops.Serve(h.bus.Conn(), ops.ServerConfig{Host: service{h}, Version: job.Version(), Log: h.log})
	if err != nil {
		return nil, err
	}
	// Another one may have looked at the same time and found none: now that both can be found, the older one stays.
	err = h.older(ctx, server.Identity(), rivalWait/4)
	if err := errors.Join(err, WrongRole(h.bus, "coordinator")); err != nil && ctx.Err() == nil {
		return nil, errors.Join(err, server.Stop())
	}
	return server, nil
}

// older returns an error if a coordinator answers that started before this one. within is how long it has to answer.
func (h *Host) older(ctx context.Context, own ops.Identity, within time.Duration) error {
	found, err := ops.Hosts(ctx, h.bus.Conn(), within)
	if err != nil {
		return err
	}
	for _, i := range found {
		if i.ID != own.ID && i.Before(own) {
			return h.rival(i)
		}
	}
	return nil
}

// watchRivals runs until the end of ctx. It returns an error earlier if an older coordinator appears, which happens
// when brokers of one cluster were disconnected at the start of this coordinator and connect again.
func (h *Host) watchRivals(ctx context.Context, own ops.Identity) error {
	ticker, role := time.NewTicker(h.look), time.NewTicker(rivalWait/8)
	defer ticker.Stop()
	defer role.Stop()
	for began := time.Now(); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-role.C:
			if err := WrongRole(h.bus, "coordinator"); err != nil {
				return err
			}
			if time.Since(began) > roleWait {
				role.Stop()
			}
			continue
		case <-ticker.C:
		}
		// Without a broker nobody can answer.
		if h.bus.Trouble() != "" {
			continue
		}
		err := h.older(ctx, own, rivalWait)
		if errors.Is(err, errRival) && ctx.Err() == nil {
			return err
		}
		if err != nil {
			h.log.Debug("looking for other coordinators", "error", err)
		}
	}
}

// errRival is returned for the second coordinator of a broker. The hint says what to do.
var errRival = errors.New("a broker can have only one coordinator")

// rival is the error for another coordinator that answers.
func (h *Host) rival(i ops.Identity) error {
	return config.Hint(fmt.Errorf("%w: another (%s, started %s) answers at %s", errRival, i.Version,
		i.Started.Local().Format(time.DateTime), h.cfg.URL), "it leads any number of runs: switchyard submit; or stop it, "+
		"and start this one again")
}

// WrongRole returns an error if the connection uses the key of another role. role names the right one. The broker
// says so only after a message was refused: until then it returns nil.
func WrongRole(bus *cluster.Bus, role string) error {
	if err := bus.Denied(); err != nil {
		return config.Hint(config.Usage(err), "give the key of the right role with --nkey, the one that switchyard init "+
			"calls %s.nk; if it is that one, the broker's list of users is of an older release: switchyard init makes it "+
			"anew, and the broker has to read it again", role)
	}
	return nil
}
