package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/pprof"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/wire/shm"
	"github.com/switchyard-ml/switchyard/worker"
)

// Wire is the cost of distribution: a step of n workers with messages, compared with the same arithmetic on as
// many threads without messages. Times are in seconds of the clock, bytes those of a step in the mean.
type Wire struct {
	Carrier      string  `json:"carrier"` // as in WireConfig
	Workers      int     `json:"workers"`
	Steps        int     `json:"steps"`
	Seconds      Spread  `json:"step_seconds"`
	PlainSeconds Spread  `json:"plain_step_seconds"`
	Overhead     float64 `json:"overhead"`              // of the medians: 0.05 is 5 %
	BytesIn      float64 `json:"bytes_in_per_step"`     // to the coordinator
	BytesOut     float64 `json:"bytes_out_per_step"`    // from the coordinator; a message to all workers counts once
	MessageCost  float64 `json:"message_seconds"`       // median time of a step minus that of a plain step
	PerWorker    float64 `json:"bytes_per_worker_step"` // in and out
}

// WireConfig says what is measured.
type WireConfig struct {
	Run     coordinator.Config // of the run; this package sets steps, folder and intervals
	Theta   []float32
	Workers int
	// Program makes a program with the given number of slots.
	Program func(slots int) (worker.Program, error)
	// Connect opens a connection to a broker for one party. The caller closes it. Carrier is the name of the way that
	// vectors take.
	Connect func(party string) (wire.Bus, error)
	Carrier string
	Memory  shm.Host  // shared by coordinator and workers; nil: none
	Dir     string    // for checkpoints
	Turns   int       // number of turns of plain and distributed steps
	Steps   int       // number of steps of a turn that count
	Profile io.Writer // gets a CPU profile of all turns; nil: no profile
	Trace   io.Writer // gets a timeline of one more turn, which counts for nothing else; nil: none
}

// MeasureWire times steps of coordinator and workers by turns with steps of the same arithmetic without messages,
// so that both see the same noise of the machine. Coordinator and workers run in this process. The first steps of
// each turn warm up and do not count.
func MeasureWire(ctx context.Context, cfg WireConfig) (Wire, error) {
	shared, err := cfg.Program(cfg.Workers)
	if err != nil {
		return Wire{}, fmt.Errorf("build the program: %w", err)
	}
	p := newPlain(shared, cfg.Theta, cfg.Run.Shards, cfg.Workers)
	defer p.close()
	parties, err := newParties(cfg)
	if err != nil {
		return Wire{}, err
	}
	if cfg.Profile != nil {
		if err := pprof.StartCPUProfile(cfg.Profile); err != nil {
			return Wire{}, fmt.Errorf("start the profile: %w", err)
		}
		defer pprof.StopCPUProfile()
	}
	w := Wire{Carrier: cfg.Carrier, Workers: cfg.Workers, Steps: cfg.Turns * cfg.Steps}
	var with, without []float64
	for turn := range cfg.Turns {
		for i := range warmUp + cfg.Steps {
			start := time.Now()
			if err := p.run(); err != nil {
				return w, err
			}
			if i >= warmUp {
				without = append(without, time.Since(start).Seconds())
			}
		}
		reports, err := parties.run(ctx, turn)
		if err != nil {
			return w, fmt.Errorf("train: %w", err)
		}
		for _, r := range reports[warmUp:] {
			with = append(with, r.Seconds)
			w.BytesIn += float64(r.BytesIn) / float64(w.Steps)
			w.BytesOut += float64(r.BytesOut) / float64(w.Steps)
			w.PerWorker += r.WorkerBytes() / float64(w.Steps)
		}
	}
	w.Seconds, w.PlainSeconds = spread(with), spread(without)
	w.MessageCost = w.Seconds.Median - w.PlainSeconds.Median
	w.Overhead = w.MessageCost / w.PlainSeconds.Median
	if cfg.Trace != nil {
		err = parties.trace(ctx, cfg.Trace)
	}
	return w, err
}

// parties are those of a distributed run, each with its connection. Their programs are built once and used in
// every turn.
type parties struct {
	cfg      WireConfig
	lead     wire.Bus
	buses    []wire.Bus
	programs []worker.Program
	times    *timeline // nil: nobody notes what happens
}

// newParties opens the connections and builds the programs of one slot.
func newParties(cfg WireConfig) (*parties, error) {
	c := &parties{cfg: cfg}
	var err error
	if c.lead, err = cfg.Connect("coordinator"); err != nil {
		return nil, err
	}
	for i := range cfg.Workers {
		bus, err := cfg.Connect(fmt.Sprintf("worker %d", i+1))
		if err != nil {
			return nil, err
		}
		// A program of one slot, so that a worker computes on one core.
		program, err := cfg.Program(1)
		if err != nil {
			return nil, fmt.Errorf("build the program of a worker: %w", err)
		}
		c.buses, c.programs = append(c.buses, bus), append(c.programs, program)
	}
	return c, nil
}

// trace trains for one more turn and writes what everybody did.
func (c *parties) trace(ctx context.Context, to io.Writer) error {
	l := newTimeline()
	noted := &parties{cfg: c.cfg, lead: l.bus(l.party("coordinator"), c.lead), times: l}
	for i, bus := range c.buses {
		n := l.party(fmt.Sprintf("worker %d", i+1))
		noted.buses = append(noted.buses, l.bus(n, bus))
		noted.programs = append(noted.programs, &notedProgram{c.programs[i], l, n})
	}
	if _, err := noted.run(ctx, c.cfg.Turns); err != nil {
		return fmt.Errorf("train for the timeline: %w", err)
	}
	return l.write(to)
}

// run trains for one turn and returns the reports of its steps, those that warm up included. Each turn is a run
// of its own, with a folder of its own. It returns when all parties have ended; an error of one ends the others.
func (c *parties) run(ctx context.Context, turn int) ([]coordinator.StepReport, error) {
	run := c.cfg.Run
	run.Run = fmt.Sprintf("bench-%d", turn)
	// One step more than is measured, because no parameters are sent after the last one; and no validations and
	// checkpoints in between.
	run.Steps, run.ValidateEvery, run.ValidationShards, run.CheckpointEvery = uint64(warmUp+c.cfg.Steps+1), 0, 0, 0
	run.Dir = fmt.Sprintf("%s/turn-%d", c.cfg.Dir, turn)
	run.Log = run.Dir + ".jsonl" // every run has a log, so its cost counts
	run.Memory = c.cfg.Memory
	obs := &listener{times: c.times}
	lead, err := coordinator.New(run, c.cfg.Theta, c.lead, obs, hclog.NewNullLogger())
	if err != nil {
		return nil, fmt.Errorf("prepare the run: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	errs := make([]error, len(c.buses))
	for i, bus := range c.buses {
		// Workers compute with the programs that are there, whatever the coordinator asks them to build.
		w, err := worker.New(worker.Config{
			Run: run.Run, Memory: c.cfg.Memory, Build: func([]byte, []byte, int) (worker.Program, error) {
				return c.programs[i],
					nil
			},
		}, bus, hclog.NewNullLogger())
		if err != nil {
			cancel()
			return nil, fmt.Errorf("prepare worker %d: %w", i+1, err)
		}
		all.Go(func() {
			if errs[i] = w.Run(ctx); errs[i] != nil {
				cancel()
			}
		})
	}
	// The coordinator ends after its last step, and ends the workers.
	err = lead.Run(ctx)
	cancel()
	all.Wait()
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, err
	}
	return obs.steps[:warmUp+c.cfg.Steps], nil // no parameters are sent after the last step
}

// listener keeps the reports of steps.
type listener struct {
	coordinator.Silent
	steps []coordinator.StepReport
	times *timeline // nil: steps are not noted there
}

// Step implements coordinator.Observer.
func (l *listener) Step(r coordinator.StepReport) {
	l.steps = append(l.steps, r)
	if l.times != nil {
		l.times.step(r)
	}
}
