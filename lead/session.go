package lead

import (
	"context"
	"errors"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/cluster"
	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/wire/shm"
)

// Session is a run that this process leads with workers of its own. Train does all of it; Prepare and Lead are its
// parts, for those who look at the coordinator in between. A Session leads one run once.
//
// The goroutine that calls Lead is the coordinator's. Each worker has one more, and so have the dispatcher and the
// ban list if other processes can connect; all have ended when Lead returns.
type Session struct {
	Plan      *job.Plan
	Transport *Transport
	From      *checkpoint.Checkpoint // the checkpoint to continue from; nil: the initial parameters
	Workers   int                    // in this process
	Slots     int                    // shards that each computes at the same time
	RunsDir   string                 // folder with the list of banned keys
	Events    bool                   // whether to write event files of TensorBoard
	Memory    shm.Host               // shared with workers of other processes of this host; nil: none
	Log       hclog.Logger
	WorkerLog hclog.Logger // the coordinator logs most of what these workers would log
	// Opened is called by Train when the coordinator is there, before its first step; nil: nobody asks for it.
	Opened func(*coordinator.Coordinator, *Watch)

	run  string
	bus  wire.Bus         // of the coordinator
	bans *cluster.BanList // nil: nobody outside can connect
	gate *wire.Gate       // of the bans
	pool *Dispatcher      // nil: nobody outside can join
	lead *coordinator.Coordinator
}

// ErrNoWorkers is returned when a run stops because all its workers have ended.
var ErrNoWorkers = errors.New("all workers ended")

// Train leads a run to its last step, records it in its folder and closes the transport. It calls show after each
// change of the progress, one call at a time. When ctx ends, Train writes a checkpoint and returns
// coordinator.ErrInterrupted. It returns ErrNoWorkers if all workers have ended and none can join, and the error of
// the disk if metrics or run.json could not be written in the end. The state of the run is left to the caller: see
// End.
func (s *Session) Train(ctx context.Context, run *store.Run, show func(terminal.Progress)) error {
	defer s.Transport.Close()
	w := NewWatch(WatchConfig{
		Plan: s.Plan, Run: run, From: s.From, Show: show, Events: s.Events,
		Advise: s.Transport.Open(), Log: s.Log,
	})
	lead, err := s.Prepare(ctx, s.Plan.Lead(run.Name(), run.Folder()), w)
	if err != nil {
		return err
	}
	if s.Opened != nil {
		s.Opened(lead, w)
	}
	err = s.Lead(ctx)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if errors.Is(err, ErrNoWorkers) {
		stop() // after an error there is no wait for unwritten files
	}
	return errors.Join(err, w.Finish(ctx))
}

// Prepare makes the coordinator that Lead runs. cfg is Plan.Lead, perhaps with small changes. It connects the
// coordinator, and reads the ban list if others can connect. The session fills in gate, memory and Ending. The
// transport stays open after an error.
func (s *Session) Prepare(ctx context.Context, cfg coordinator.Config,
	o coordinator.Observer,
) (*coordinator.Coordinator, error) {
	var err error
	if s.bus, err = s.Transport.Connect(coordinatorParty); err != nil {
		return nil, err
	}
	s.run = cfg.Run
	if s.Transport.Open() && s.RunsDir != "" {
		if s.bans, err = cluster.NewBanList(s.RunsDir, s.bus, s.Log.Named("keys")); err != nil {
			return nil, err
		}
		s.gate = s.bans.Gate
		cfg.Gate = s.gate
	}
	if s.Transport.Open() {
		cfg.Memory = s.Memory
	}
	cfg.Ending = func() {
		if s.pool != nil {
			s.pool.Close(s.run)
		}
	}
	s.lead, err = NewCoordinator(ctx, Leadership{
		Plan: s.Plan, Config: cfg, From: s.From, Bus: s.bus, Observer: o,
		Log: s.Log.Named("coordinator"),
	})
	return s.lead, err
}

// Lead runs the prepared coordinator, with the workers of the session, until its last step or the end of ctx. If all
// workers end with an error and no other worker can join, it returns ErrNoWorkers with the first error.
func (s *Session) Lead(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if s.Transport.Open() {
		defer s.dispatch(ctx)()
	}
	// Workers end after the coordinator, and the dispatcher after them: until then it answers those from outside.
	dismiss, err := s.hire(stop)
	if err != nil {
		return err
	}
	err = s.lead.Run(ctx)
	dismiss()
	if cause := context.Cause(ctx); errors.Is(cause, ErrNoWorkers) && errors.Is(err, coordinator.ErrInterrupted) {
		return cause
	}
	return err
}

// dispatch assigns workers of other processes, which seek a run, to this run, until the returned function is called.
// Errors of the dispatcher are logged: the run goes on with the workers that it has.
func (s *Session) dispatch(ctx context.Context) (end func()) {
	s.pool = NewDispatcher(PoolConfig{
		Numerics: job.Numerics(), Log: s.Log.Named("pool"), Gate: s.gate,
		View: func() PoolView { return View(s.run, s.lead.Stats()) },
	}, s.bus)
	s.pool.Open(Run{Name: s.run, Limit: job.RoundShards(s.Plan.Config)}, s.From != nil)
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	if s.bans != nil {
		running.Go(func() { s.bans.Run(ctx) })
	}
	running.Go(func() {
		if err := s.pool.Run(ctx); err != nil {
			s.Log.Warn("workers from outside do not find this run", "error", err)
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}

// View is what a run knows of its workers, in the form that a dispatcher reads. A member has proven itself if the
// run could use something of it; the banned are the newest that this coordinator has expelled.
func View(run string, s coordinator.Stats) PoolView {
	var v PoolView
	for _, m := range s.Members {
		v.Members = append(v.Members, Member{Run: run, ID: m.ID, Mark: m.Mark, Slots: m.Slots, Proven: m.Accepted > 0})
	}
	for i, id := range s.Quarantined {
		v.Banned = append(v.Banned, Ban{Run: run, ID: id, Mark: s.Marks[i]})
	}
	return v
}
