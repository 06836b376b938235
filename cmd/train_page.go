package cmd

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/switchyard-ml/switchyard/coordinator"

	"github.com/switchyard-ml/switchyard/lead"
	"github.com/switchyard-ml/switchyard/web"
)

// trainPage is the page of a run that this process trains, beside the other runs of its folder.
type trainPage struct {
	web.Folder
	server *web.Server

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

// opened is called when the coordinator is there.
func (p *trainPage) opened(name string) func(*coordinator.Coordinator, *lead.Watch) {
	return func(lead *coordinator.Coordinator, w *lead.Watch) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.name, p.lead, p.watch = name, lead, w
	}
}

// leads calls do with the lock held if this process trains the named run.
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

// dress adds what this process knows of its run.
func (p *trainPage) dress(r web.Run) web.Run {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lead != nil && p.stop != nil && r.Name == p.name {
		return web.Run{Info: p.watch.Info(), Live: lead.Live(p.lead)}
	}
	return r
}

// Stop implements web.Source.
func (p *trainPage) Stop(name string) error { return p.leads(name, func() { p.stop() }) }

// Checkpoint implements web.Checkpointer.
func (p *trainPage) Checkpoint(name string) error {
	return p.leads(name, func() { p.lead.Checkpoint() })
}

// serve shows the page while train does its work, until its context ends. A nil page shows nothing.
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
