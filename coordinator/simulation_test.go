package coordinator_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/internal/disk"
	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/worker"
)

var (
	simulations = flag.Int("simulations", coordinator.Schedules, "number of simulated fault schedules")
	allSharded  = flag.Bool("sharded", false, "let workers sum the gradients in all simulated fault schedules, not every other one")
	firstSeed   = flag.Uint64("seed", 1, "seed of the first simulated fault schedule")
)

// form is how vectors travel in a simulated run.
type form struct{ gradients, parameters wire.Coding }

// simulated has the SHA-256 of the simulated runs' parameters, whatever befalls them: gradients travel as float32 or as
// integers of 16 or 8 bits, and so do the differences of parameters.
func simulated() map[form]string {
	return map[form]string{
		{wire.Float32, wire.Float32}: "87d0f3860d568be5b7edd5901756823f3d23b0a3072474b49d11e3bb01c37a95",
		{wire.Int16, wire.Float32}:   "4d178a2d48d2033a8f42d66c93ef93efbad9cc71d04807c8456f703f6d0df639",
		{wire.Int8, wire.Float32}:    "d86fb6e54d8b87041f1d4e34f3ad95c9661248d89b826ddcf6be5fb0ac16744b",
		{wire.Float32, wire.Int16}:   "7aa75debadd7a0b7785eb547c628361986911291911b36da6f477276dcddae33",
		{wire.Int16, wire.Int16}:     "eb0720793521fd3e1eb5b4cf6f31f49dab52fb3964214ac8f26dbdb7cd7d5844",
		{wire.Int8, wire.Int16}:      "1661b48005fb0b3d5bff6cc1aca1ec09906612295f6a366fab8b33fc4de78786",
		{wire.Float32, wire.Int8}:    "eea3190ffaec2de816648b514b9ecb50c4e6cafe0fac7da74584235a9b8f37f8",
		{wire.Int16, wire.Int8}:      "a93d540ef09bba2b319173696a8ff4dbe418e3b75d34531b5fafc453e4171e54",
		{wire.Int8, wire.Int8}:       "f0b9ef30478553e43d82ca581e6eb8155416f4aaf5fe20cc55e09b23f11c3cf8",
	}
}

// Real coordinators and workers, the real codec and the real files live through random faults in simulated time:
// messages lost, repeated, late, reordered and changed; brokers that are gone for seconds; workers killed, paused, cut
// off, slow, that leave and that come; workers that compute a NaN, other bits, or confirm what is wrong; coordinators
// that are interrupted, and others killed at any moment; disks that are full for a while. Every run ends with the bits
// of the undisturbed one, and no honest worker is cut off.
func TestSimulation(t *testing.T) {
	for i := range uint64(*simulations) {
		seed := *firstSeed + i
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := simulate(t, seed, 0)
				if t.Failed() {
					t.Logf("%s\nrepeat it with: go test ./coordinator -run TestSimulation -seed %d -simulations 1", s.plan, seed)
				}
			})
		})
	}
}

const simulatedSize = 96

func simulatedConfig(t *testing.T) coordinator.Config {
	cfg := config(t)
	cfg.Steps, cfg.ValidateEvery, cfg.CheckpointEvery = 12, 5, 3
	cfg.Chunk, cfg.Credit = 128, 512
	cfg.Job, cfg.Data = []byte("toy"), dataset(300)
	cfg.Golden, cfg.Numerics = goldenShard(simulatedSize), []wire.Numeric{{Kernel: "add", Sum: 7}}
	top := t.TempDir()
	cfg.Dir, cfg.Log = filepath.Join(top, "checkpoints"), filepath.Join(top, "log.jsonl")
	return cfg
}

func simulatedCoordinator(t *testing.T, cfg coordinator.Config, bus wire.Bus, obs coordinator.Observer) *coordinator.Coordinator {
	t.Helper()
	c, err := coordinator.New(cfg, initial(simulatedSize), bus, obs, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	c.HurryChoice(2)
	return c
}

// simulation is one schedule.
type simulation struct {
	t       *testing.T
	plan    plan
	weather *weather
	disk    *weakDisk
	cfg     coordinator.Config
	refused int64
	house   *house // nil: no memory is shared
	honest  func(id string) bool
}

// The undisturbed runs, which the schedules are compared with.
func TestSimulation_Undisturbed(t *testing.T) {
	for form := range simulated() {
		undisturbed(t, form)
	}
}

func undisturbed(t *testing.T, form form) {
	s := &simulation{t: t, cfg: simulatedConfig(t)}
	s.cfg.Gradients, s.cfg.Parameters = form.gradients, form.parameters
	bus := wire.NewMemory(nil)
	c := simulatedCoordinator(t, s.cfg, bus, nil)
	defer startWorker(t, t.Context(), bus, worker.Config{Numerics: s.cfg.Numerics}, func() *toy { return &toy{size: simulatedSize} })()
	if err := c.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	theta, _ := c.Parameters()
	if sha := checkpoint.Hash(theta); sha != s.want() {
		t.Errorf("%+v: SHA-256 %s, want %s", form, sha, s.want())
	}
}

// form is how vectors travel in this run.
func (s *simulation) form() form { return form{s.cfg.Gradients, s.cfg.Parameters} }

// want is the SHA-256 that the run is to end with.
func (s *simulation) want() string { return simulated()[s.form()] }

// plan is which faults a schedule has. Not all come together: a fault that only shows when others are absent has to
// have its day.
type plan struct {
	messages   float64 // share of the messages lost, repeated, and tenfold that changed
	delay      time.Duration
	outages    bool
	kills      bool // of workers
	partitions bool
	pauses     bool
	slow       bool
	nan        bool
	liars      bool    // whose gradients or terms are wrong
	auditors   bool    // who confirm what is wrong and deny what is right
	audit      float64 // share
	referee    bool
	interrupts bool // of coordinators
	crashes    bool
	full       bool // disks
	silent     bool // members that never deliver
	reducers   bool // who lie about sums of sections, or accuse others, or say nothing
	holders    bool // who withhold from other workers what they keep, or send something else
	relays     bool // who hand on other parameters than they were sent, or none
}

func (p plan) String() string { return fmt.Sprintf("%+v", plain(p)) }

// plain is a plan without its String method.
type plain plan

func draw(r *rand.Rand) plan {
	some := func() bool { return r.IntN(3) == 0 }
	p := plan{
		outages: some(), kills: some(), partitions: some(), pauses: some(), slow: some(), nan: some(),
		interrupts: some(), crashes: some(), full: some(), referee: some(),
	}
	if r.IntN(2) == 0 {
		p.messages = 0.1 * r.Float64()
	}
	p.delay = time.Duration(1+r.IntN(200)) * time.Millisecond
	switch r.IntN(5) {
	case 0:
		p.liars, p.audit = true, 1
	case 1:
		p.auditors, p.audit = true, 0.3+0.5*r.Float64()
	case 2:
		p.audit = r.Float64()
	}
	p.silent = some()
	if p.reducers, p.holders = some(), some(); p.reducers {
		p.audit = 1
	}
	p.relays = some()
	p.referee = p.referee || p.reducers || p.silent || p.liars || p.auditors || p.nan
	return p
}

// simulate lets a schedule happen to a run with that memory of the average of its parameters.
func simulate(t *testing.T, seed uint64, average float64) *simulation {
	return simulateOn(t, seed, average, nil)
}

// simulateOn is simulate where some of the workers share memory with the coordinator; nil: none.
func simulateOn(t *testing.T, seed uint64, average float64, house *house) *simulation {
	p := draw(rand.New(rand.NewPCG(seed, 0)))
	s := &simulation{t: t, plan: p, cfg: simulatedConfig(t), disk: &weakDisk{}}
	s.cfg.Average = average
	if s.house = house; house != nil {
		s.cfg.Memory = house.host
	}
	s.honest = func(id string) bool { return strings.HasPrefix(id, "w") }
	s.weather = newWeather(p, rand.New(rand.NewPCG(seed, 1)))
	s.cfg.Audit = p.audit
	switch {
	case seed%2 == 1 || *allSharded:
		s.cfg.Exchange = coordinator.Sharded
	case seed%7 < 3:
		s.cfg.Exchange = coordinator.Auto
	}
	switch seed % 12 / 2 { // each with star and sharded
	case 0:
		s.cfg.Gradients = wire.Int16
	case 3:
		s.cfg.Gradients = wire.Int8
	}
	switch seed % 5 {
	case 1:
		s.cfg.Parameters = wire.Int8
	case 3:
		s.cfg.Parameters = wire.Int16
	}
	if p.referee {
		s.cfg.Referee = trustedOf(vector.Width(s.cfg.Gradients.Width()), simulatedSize)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Hour)
	fleet := &fleet{simulation: s, fate: rand.New(rand.NewPCG(seed, 2))}
	var all sync.WaitGroup
	all.Go(func() { fleet.live(ctx) })
	if p.silent {
		for i := range 1 + seed%5 {
			how := []behaviour{beats, pretends, announces}[(seed+i)%3]
			silent(ctx, t, s.weather.bus, s.cfg, fmt.Sprint("silent", i), how)
		}
	}
	all.Go(func() { s.trouble(ctx, rand.New(rand.NewPCG(seed, 3))) })
	s.lead(ctx, rand.New(rand.NewPCG(seed, 4)))
	cancel()
	all.Wait()
	time.Sleep(time.Minute) // late messages
	return s
}

// lead leads the run to its end, with as many coordinators as it takes.
func (s *simulation) lead(ctx context.Context, fate *rand.Rand) {
	var dead sync.WaitGroup
	defer dead.Wait()
	start := time.Now()
	for incarnations := 1; ; incarnations++ {
		cp, _, err := checkpoint.Restore(s.cfg.Dir)
		if err != nil && !errors.Is(err, checkpoint.ErrNotFound) {
			s.t.Errorf("incarnation %d: %v", incarnations, err)
			return
		}
		mortal := &mortal{fault: s.disk.fault}
		cfg := s.cfg
		cfg.Disk = disk.Faulty(unsynced{disk.System()}, mortal.act)
		bus := &severable{Bus: s.weather.bus}
		c := simulatedCoordinator(s.t, cfg, bus, nil)
		if cp != nil {
			if err := c.Resume(cp); err != nil {
				s.t.Errorf("incarnation %d: %v", incarnations, err)
				return
			}
		}
		life, end := context.WithCancel(ctx)
		ended := make(chan error, 1)
		dead.Go(func() { ended <- c.Run(life) })
		if incarnations > 6 { // some steps take long: it has to come to an end
			s.plan.crashes, s.plan.interrupts = false, false
		}
		err, killed := s.await(ended, bus, mortal, end, fate)
		end()
		if killed {
			continue
		}
		s.account(c)
		if ctx.Err() != nil {
			s.t.Errorf("after three hours it is at step %d: %+v", c.Stats().Step, c.Stats())
			return
		}
		if errors.Is(err, coordinator.ErrInterrupted) || errors.Is(err, syscall.ENOSPC) { // interrupted while the disk was full
			continue
		}
		if err != nil {
			s.t.Errorf("incarnation %d: %v", incarnations, err)
			return
		}
		s.t.Logf("%v simulated, %d incarnations, %d messages refused; at last %d gradients summed by workers, parameters handed on %d times, %d chunks of them asked for",
			time.Since(start), incarnations, s.refused, c.Stats().Summed, c.Stats().Relayed, c.Stats().Unrelayed)
		theta, _ := c.Parameters()
		if sha := checkpoint.Hash(theta); sha != s.want() {
			s.t.Errorf("SHA-256 %s, want %s", sha, s.want())
		}
		return
	}
}

// await waits for the end of a coordinator, which may be by force: then nothing of it passes the bus or reaches the
// disk any more, from one moment to the next.
func (s *simulation) await(ended chan error, bus *severable, mortal *mortal, end context.CancelFunc, fate *rand.Rand) (err error, killed bool) {
	var kill, interrupt <-chan time.Time
	if s.plan.crashes {
		kill = time.After(time.Duration(fate.IntN(30_000)) * time.Millisecond)
	}
	if s.plan.interrupts {
		interrupt = time.After(time.Duration(fate.IntN(30_000)) * time.Millisecond)
	}
	for {
		select {
		case err := <-ended:
			return err, false
		case <-interrupt:
			end()
		case <-kill:
			bus.cut.Store(true)
			mortal.dead.Store(true)
			end()
			time.Sleep(time.Duration(fate.IntN(3000)) * time.Millisecond)
			return nil, true
		}
	}
}

// account adds up what was refused, and looks who was cut off.
func (s *simulation) account(c *coordinator.Coordinator) {
	for _, rejection := range c.Rejections() {
		s.refused += rejection.Count
	}
	if q := c.Stats().Quarantined; slices.ContainsFunc(q, s.honest) {
		s.t.Errorf("honest workers were cut off: %v: %v", q, c.Rejections())
	}
}

// trouble lets the broker go away and the disk be full, for seconds.
func (s *simulation) trouble(ctx context.Context, fate *rand.Rand) {
	for ctx.Err() == nil {
		rest(ctx, time.Duration(fate.IntN(10_000))*time.Millisecond)
		switch {
		case s.plan.outages && fate.IntN(2) == 0:
			s.weather.gone.Store(true)
			rest(ctx, time.Duration(fate.IntN(8000))*time.Millisecond)
			s.weather.gone.Store(false)
		case s.plan.full:
			s.disk.full.Store(true)
			rest(ctx, time.Duration(fate.IntN(15_000))*time.Millisecond)
			s.disk.full.Store(false)
		}
	}
}

// rest sleeps, or until ctx ends.
func rest(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
