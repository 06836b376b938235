package trials

import (
	"context"
	"errors"

	"github.com/switchyard-ml/switchyard/lead"
	"github.com/switchyard-ml/switchyard/web"
)

// Host leads one sweep, whose folder has the runs, with the workers of a transport. It ends with the sweep.
type Host struct {
	*lead.Host
	ctx  context.Context // ends with the sweep
	done context.CancelFunc
	err  error // of the sweep
}

// Host makes the folder and the host of the sweep. Of c it takes what the sweep and the transport do not say; memory
// that workers of other processes share needs an open transport. extend is the number of trials to extend the sweep
// to; 0: none.
func (j *Job) Host(c lead.Config, t *lead.Transport, l Leader, extend int) (*Host, error) {
	j.local = true
	h := &Host{}
	if !t.Open() {
		c.Memory = nil
	}
	h.ctx, h.done = context.WithCancel(context.Background())
	l.RunsDir = j.Folder.Runs()
	c.RunsDir, c.URL, c.Kinds, c.Log, c.Connect, c.Direct = l.RunsDir, "embedded", j.Base.kinds, l.Log, t.Plain, t.Direct
	// The host calls it when it leads runs; what the sweep returns ends the host.
	c.Ready = func(ready context.Context) {
		l.Host = h.Host
		h.err = j.Lead(ready, l, extend)
		h.done()
	}
	h.Host = lead.New(c)
	return h, h.Connect()
}

// Lead leads the sweep until its end, or that of ctx, and returns the errors of the sweep and of the host,
// joined. Nobody looks at a page that is nil.
func (h *Host) Lead(ctx context.Context, page *web.Server) error {
	stop := context.AfterFunc(ctx, h.done)
	defer stop()
	return errors.Join(h.Serve(h.ctx, page, nil), h.err)
}

// Close ends the host.
func (h *Host) Close() {
	h.done()
	h.Host.Close()
}
