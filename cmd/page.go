package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/lead"
	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/web"
)

// webFlags set the address of the page and the file with its token.
type webFlags struct {
	listen, tokenFile string
	sweeps            *web.Sweeps   // nil: the page has none
	model             web.ModelFunc // nil: the page shows no models
}

// add defines the flags of a command whose page is on by default, as serve, coordinator and sweep.
// trainFlags.addPage defines --web for commands whose page is off by default.
func (f *webFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.listen, "web", "127.0.0.1:8080", "address of the web page and the metrics; none turns both off")
	f.addToken(c)
}

// addToken defines the flag of the file with the token.
func (f *webFlags) addToken(c *cobra.Command) {
	c.Flags().StringVar(&f.tokenFile, "web-token-file", "", "file with the token that the page asks for; required on "+
		"addresses that other machines can reach, and for stopping runs from the page")
}

// open listens on the address of the page, but answers nobody until the server's Serve is called. It returns nil
// for --web none. A wrong address, a token that cannot be read, and a missing token at an address that other
// machines can reach are usage errors; an address in use is not.
func (f *webFlags) open(source web.Source, runsDir string, log hclog.Logger) (*web.Server, error) {
	if f.listen == "none" {
		return nil, nil
	}
	if err := listenAddress("web", f.listen, 8080); err != nil {
		return nil, err
	}
	token := ""
	if f.tokenFile != "" {
		err := secretFile("web-token-file", f.tokenFile)
		if err != nil {
			return nil, err
		}
		if token, err = web.ReadToken(f.tokenFile); err != nil {
			return nil, config.Usage(err)
		}
	}
	// A nil Sweeps or Model leaves out these parts of the page.
	server, err := web.Listen(f.listen, web.Config{
		Source: source, Sweeps: f.sweeps, Model: f.model, Dir: runsDir,
		Token: token, Version: job.Version(), Log: log.Named("web"),
	})
	switch {
	case errors.Is(err, web.ErrToken):
		return nil, config.Usage(err)
	case err != nil:
		return nil, config.Hint(err, "choose another address with --web, e.g. --web 127.0.0.1:8081, or --web none")
	}
	return server, nil
}

// trainPage is the page of a run that this process trains, beside the other runs of its folder.
type trainPage struct {
	web.Folder
	server *web.Server

	// mu guards the rest: the page asks while the training goes on.
	mu    sync.Mutex
	name  string
	lead  *coordinator.Coordinator
	watch *lead.Watch
	stop  context.CancelFunc // of the run; nil: it is over
}

var (
	_ web.Source       = (*trainPage)(nil)
	_ web.Checkpointer = (*trainPage)(nil)
)

// opened returns the function that the session calls when the coordinator of the named run is there. Until then the
// page shows the run as its folder has it.
func (p *trainPage) opened(name string) func(*coordinator.Coordinator, *lead.Watch) {
	return func(lead *coordinator.Coordinator, w *lead.Watch) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.name, p.lead, p.watch = name, lead, w
	}
}

// leads calls do with the lock held if this process trains the named run. For a run of the folder that another
// process leads, or that is over, it returns web.ErrNotRunning; for a name without a run it returns the error of
// the folder.
func (p *trainPage) leads(name string, do func()) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lead != nil && p.stop != nil && p.name == name {
		do()
		return nil
	}
	if _, err := p.Folder.Run(name); err != nil {
		return err
	}
	return fmt.Errorf("%w: %s", web.ErrNotRunning, name)
}

// Runs implements web.Source.
func (p *trainPage) Runs() ([]web.Run, error) {
	list, err := p.Folder.Runs()
	for i := range list {
		list[i] = p.dress(list[i])
	}
	return list, err
}

// Run implements web.Source.
func (p *trainPage) Run(name string) (web.Run, error) {
	r, err := p.Folder.Run(name)
	return p.dress(r), err
}

// dress replaces what the folder says of the run of this process by what its coordinator knows, which is newer.
func (p *trainPage) dress(r web.Run) web.Run {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lead != nil && p.stop != nil && r.Name == p.name {
		return web.Run{Info: p.watch.Info(), Live: lead.Live(p.lead)}
	}
	return r
}

// Stop implements web.Source: the run finishes its step, writes a checkpoint and ends as interrupted.
func (p *trainPage) Stop(name string) error { return p.leads(name, func() { p.stop() }) }

// Checkpoint implements web.Checkpointer: the coordinator is asked for a checkpoint outside of the schedule.
func (p *trainPage) Checkpoint(name string) error {
	return p.leads(name, func() { p.lead.Checkpoint() })
}

// serve shows the page while train does its work, until its context ends, and returns the errors of both. A nil
// page shows nothing. Two contexts are kept apart: Stop ends the training alone, and the page, which outlives ctx,
// is shown until the last checkpoint is written.
func (p *trainPage) serve(ctx context.Context, train func(context.Context) error) error {
	if p == nil {
		return train(ctx)
	}
	training, stop := context.WithCancel(ctx)
	defer stop()
	p.mu.Lock()
	p.stop = stop
	p.mu.Unlock()
	showing, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	done := make(chan error, 1)
	go func() { done <- p.server.Serve(showing) }()
	err := train(training)
	p.mu.Lock()
	p.stop = nil
	p.mu.Unlock()
	end()
	return errors.Join(err, <-done)
}

// here says where a run is trained, for its plan. An empty folder means that it is not.
func (f *trainFlags) here(folder string) job.Here {
	return job.Here{
		Folder: folder, Workers: f.workers, Slots: f.slots, Broker: f.listen, Page: cmp.Or(f.url, f.page.listen),
	}
}
