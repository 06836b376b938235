package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"github.com/switchyard-ml/switchyard/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stage plays the host and the coordinators for one agent called "w", and writes down what the agent says: "seek", or
// kind and run.
type stage struct {
	t     *testing.T
	bus   *wire.Memory
	start time.Time

	cancel context.CancelFunc // of the agent
	done   chan error

	mu sync.Mutex // guards all below
	// number is that of the agent's newest Seek, and order counts the answers of the host.
	number, order uint64
	// host answers a Seek and run what is said to the coordinator of a run; nil: nothing.
	host func() wire.Message
	run  func(run string, m wire.Message) []wire.Message
	said []string
	at   []time.Duration
}

// cast gives host and coordinators other parts.
func (s *stage) cast(host func() wire.Message, run func(run string, m wire.Message) []wire.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.host, s.run = host, run
}

func (s *stage) parts() (host func() wire.Message, run func(run string, m wire.Message) []wire.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.host, s.run
}

func newStage(t *testing.T, fault func(subject string, data []byte) []time.Duration, runs ...string) *stage {
	s := &stage{t: t, bus: wire.NewMemory(fault), start: time.Now()}
	s.listen(wire.SeekSubject, wire.Pool, func(wire.Message) []wire.Message {
		host, _ := s.parts()
		if host == nil {
			return nil
		}
		return []wire.Message{host()}
	})
	for _, run := range runs {
		subjects, err := wire.SubjectsOf(run)
		if err != nil {
			t.Fatal(err)
		}
		s.listen(subjects.Control, run, func(m wire.Message) []wire.Message {
			_, answer := s.parts()
			if answer == nil {
				return nil
			}
			return answer(run, m)
		})
	}
	return s
}

func (s *stage) listen(subject, run string, answer func(wire.Message) []wire.Message) {
	sub, err := s.bus.Hear(subject, func(_ string, data []byte) {
		m, err := wire.Decode(data)
		if err != nil || m.Head().Run != run || m.Head().From != "w" || m.Head().Token != 42 {
			s.t.Errorf("on %s came %+v, %v", subject, m, err)
			return
		}
		s.mu.Lock()
		if seek, ok := m.(*wire.Seek); ok {
			s.number = seek.Number
		}
		s.said = append(s.said, strings.TrimPrefix(fmt.Sprintf("%T ", m), "*wire.")+run)
		s.at = append(s.at, time.Since(s.start))
		s.mu.Unlock()
		for _, a := range answer(m) {
			s.send(run, a)
		}
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { sub.Unsubscribe() })
}

// send sends the agent a message as the coordinator of a run or, for wire.Pool, as the host.
func (s *stage) send(run string, m wire.Message) {
	*m.Head() = wire.Header{Run: run, Term: 1, Token: wire.Mark(42)}
	if a, ok := m.(*wire.Assign); ok {
		s.mu.Lock()
		s.order++
		*a = wire.Assign{Header: a.Header, To: a.To, Number: s.number, Order: s.order}
		s.mu.Unlock()
	}
	s.post(run, m)
}

// post sends a message as it is.
func (s *stage) post(run string, m wire.Message) {
	subject := wire.AssignSubject("w")
	if run != wire.Pool {
		subject = "sy." + run + ".worker.open.w"
	}
	data, err := wire.NewEncoder().Encode(m)
	if err == nil {
		err = s.bus.Publish(subject, data)
	}
	if err != nil {
		s.t.Error(err)
	}
}

// count is how often something was said from a time on.
func (s *stage) count(what string, from time.Duration) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for i, said := range s.said {
		if said == what && s.at[i] >= from {
			n++
		}
	}
	return n
}

// all is all that was said.
func (s *stage) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.said)
}

// last is what was said last.
func (s *stage) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said[len(s.said)-1]
}

// launch runs an agent until the test ends it, which waits for it.
func (s *stage) launch(build func(job, data []byte, slots int) (Program, error), log hclog.Logger) (a *Agent, end func() error) {
	a, err := NewAgent(AgentConfig{ID: "w", Token: 42, Slots: 2, Build: build}, s.bus, log)
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(s.t.Context())
	s.cancel, s.done = cancel, make(chan error, 1)
	go func() { s.done <- a.Run(ctx) }()
	return a, func() error {
		cancel()
		err := <-s.done
		synctest.Wait()
		return err
	}
}

// pass lets time pass, and then everything happen.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func buildStill([]byte, []byte, int) (Program, error) { return still{}, nil }

// greet is a coordinator that welcomes and then says nothing more.
func greet(_ string, m wire.Message) []wire.Message {
	if wire.TypeOf(m) == wire.KindHello {
		w := welcome
		return []wire.Message{&w}
	}
	return nil
}

func to(run string) func() wire.Message {
	return func() wire.Message { return &wire.Assign{To: run} }
}

// An agent seeks at once and then every second, also when it hears that there is no work, until it is sent to a run.
func TestAgent_SeeksAndServes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, nil, "a")
		s.run, s.host = greet, to("")
		_, end := s.launch(buildStill, hclog.NewNullLogger())
		pass(5*time.Second + seeking/2)
		if n := s.count("Seek -pool", 0); n != 6 {
			t.Errorf("%d times Seek in five seconds", n)
		}
		for _, odd := range []string{"-pool", "-x", "a.b"} {
			s.send(wire.Pool, &wire.Assign{To: odd})
		}
		synctest.Wait()
		s.send(wire.Pool, &wire.Assign{To: "a"})
		synctest.Wait()
		if s.last() != "Ready a" {
			t.Errorf("last was said %q", s.last())
		}
		from := time.Since(s.start)
		s.send(wire.Pool, &wire.Assign{To: ""}) // a late answer
		s.send(wire.Pool, &wire.Assign{To: "a"})
		pass(5 * time.Second)
		if s.count("Seek -pool", from) != 0 || s.count("Bye a", 0) != 0 || s.count("Hello a", 0) != 1 {
			t.Errorf("said %v", s.all())
		}
		if err := end(); err != nil || s.last() != "Bye a" {
			t.Errorf("got %v, last was said %q", err, s.last())
		}
	})
}

// A Seek or an Assign that is lost is made up for by the next.
func TestAgent_LostMessages(t *testing.T) {
	for _, subject := range []string{wire.By(wire.SeekSubject, wire.NoKey), wire.AssignSubject("w"), "sy.a.control.open"} {
		synctest.Test(t, func(t *testing.T) {
			lost := 0
			s := newStage(t, func(on string, _ []byte) []time.Duration {
				if on == subject && lost < 3 {
					lost++
					return nil
				}
				return []time.Duration{0, time.Second / 3} // twice
			}, "a")
			s.run, s.host = greet, to("a")
			_, end := s.launch(buildStill, hclog.NewNullLogger())
			pass(4 * time.Second)
			if lost != 3 || s.count("Ready a", 0) == 0 {
				t.Errorf("%s: %d were lost, said %v", subject, lost, s.all())
			}
			if err := end(); err != nil {
				t.Error(err)
			}
			pass(time.Second)
		})
	}
}

// An agent that is sent away in the middle of a lease hands it back at once and goes when its shard is computed; the
// data set and the program stay where the job is the same, and with them the golden shard.
func TestAgent_SentElsewhere(t *testing.T) {
	for job, builds := range map[string]int{"job": 1, "other": 2} {
		synctest.Test(t, func(t *testing.T) {
			s, built, goldens := newStage(t, nil, "a", "b"), 0, map[string]bool{}
			started := make(chan bool, 8)
			s.host = to("a")
			s.run = func(run string, m wire.Message) []wire.Message {
				switch m := m.(type) {
				case *wire.Hello:
					w := welcome
					if run == "b" {
						w.Job = []byte(job)
					}
					return []wire.Message{&w}
				case *wire.Ready:
					goldens[m.Golden] = true
					return []wire.Message{&wire.Lease{ID: 7, Step: 3, Attempt: 1, Work: wire.Gradient, First: 0, Count: 4}, theta()}
				}
				return nil
			}
			_, end := s.launch(func([]byte, []byte, int) (Program, error) {
				built++
				return &slow{started: started}, nil
			}, hclog.NewNullLogger())
			<-started
			_, coordinators := s.parts()
			s.cast(to("b"), coordinators)
			sent := time.Since(s.start)
			s.send(wire.Pool, &wire.Assign{To: "b"})
			synctest.Wait()
			if n := s.count("Bye a", sent); n != 1 || time.Since(s.start) != sent {
				t.Errorf("%d times Bye", n)
			}
			pass(slowShard)
			synctest.Wait()
			if s.last() != "Ready b" || built != builds || len(goldens) != 1 {
				t.Errorf("last was said %q; built %d programs, want %d; golden shards %v", s.last(), built, builds, goldens)
			}
			if err := end(); err != nil || s.last() != "Bye b" {
				t.Errorf("got %v, last was said %q", err, s.last())
			}
		})
	}
}

// slowShard is how long a slow program computes: it ends between two calls of the agent.
const slowShard = 9700 * time.Millisecond

// slow is a counter whose shards take long, and whose golden shard depends on what is loaded.
type slow struct {
	counter
	started chan bool
	loads   int
}

func (s *slow) Load(uint64, []float32) error {
	s.loads++
	return nil
}

func (s *slow) Gradient(_ int, _ uint64, shard int, grad, terms []float32) error {
	if s.loads > 0 {
		s.started <- true
		time.Sleep(slowShard)
	}
	grad[0], terms[0] = float32(s.loads), float32(shard)
	return nil
}

// When a run ends the agent seeks at once, and serves the next one, or the same one if it goes on.
func TestAgent_RunEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, builds := newStage(t, nil, "a", "b"), 0
		next := []string{"a", "a", "b", "a"}
		s.host = func() wire.Message {
			if len(next) == 0 {
				return &wire.Assign{}
			}
			run := next[0]
			next = next[1:]
			return &wire.Assign{To: run}
		}
		s.run = func(_ string, m wire.Message) []wire.Message {
			switch m.(type) {
			case *wire.Hello:
				w := welcome
				return []wire.Message{&w}
			case *wire.Ready:
				return []wire.Message{&wire.End{Reason: "done"}}
			}
			return nil
		}
		_, end := s.launch(func([]byte, []byte, int) (Program, error) {
			builds++
			return still{}, nil
		}, hclog.NewNullLogger())
		synctest.Wait()
		var want []string
		for _, run := range []string{"a", "a", "b", "a"} {
			want = append(want, "Seek -pool", "Hello "+run, "Ready "+run)
		}
		want = append(want, "Seek -pool")
		if !slices.Equal(s.all(), want) || builds != 1 || time.Since(s.start) != 0 {
			t.Errorf("after %v and %d builds said %q, want %q", time.Since(s.start), builds, s.all(), want)
		}
		if err := end(); err != nil {
			t.Error(err)
		}
	})
}

// The host's refusal ends an agent that has never worked, with reason and remedy, also one that serves a run.
func TestAgent_RefusedByTheHost(t *testing.T) {
	for _, serving := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := newStage(t, nil, "a")
			s.run = greet
			s.host = func() wire.Message { return &wire.Refusal{Reason: "it computes wrongly", Remedy: "check the machine"} }
			if serving {
				s.host = to("a")
			}
			_, end := s.launch(buildStill, hclog.NewNullLogger())
			pass(seeking / 2)
			if serving {
				s.send(wire.Pool, &wire.Refusal{Reason: "it computes wrongly", Remedy: "check the machine"})
				synctest.Wait()
				if s.last() != "Bye a" {
					t.Errorf("last was said %q", s.last())
				}
			}
			if err := end(); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "it computes wrongly; check the machine") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// An agent that has worked takes a refusal for a pause, goes on with its run, and seeks less and less often while it is
// refused.
func TestAgent_RefusedAfterWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := newStage(t, nil, "a")
		refuse := func() wire.Message { return &wire.Refusal{Reason: "it computes wrongly", Remedy: "check the machine"} }
		s.host = to("a")
		s.run = func(run string, m wire.Message) []wire.Message {
			if wire.TypeOf(m) == wire.KindReady {
				return []wire.Message{&wire.Lease{ID: 7, Step: 3, Attempt: 1, Work: wire.Gradient, First: 0, Count: 4}}
			}
			return greet(run, m)
		}
		_, end := s.launch(buildStill, hclog.New(&hclog.LoggerOptions{Output: &log, Level: hclog.Warn}))
		synctest.Wait()
		s.cast(refuse, s.run)
		s.send(wire.Pool, refuse())
		pass(seeking)
		if s.count("Bye a", 0) != 0 {
			t.Error("it left its run")
		}
		s.send("a", &wire.End{Reason: "done"})
		pass(hostPause)
		from := time.Since(s.start)
		pass(time.Minute)
		if n := s.count("Seek -pool", from); n < 4 || n > 7 { // after 4, 8, 16, 30, 30 s
			t.Errorf("it has sought %d times in a minute in which it was refused", n)
		}
		if n := strings.Count(log.String(), "refuses this worker"); n != 1 {
			t.Errorf("told %d times:\n%s", n, log.String())
		}
		s.cast(to("a"), s.run)
		pass(longestPause)
		if s.last() != "Ready a" && s.last() != "Heartbeat a" {
			t.Errorf("it did not come back: %q", s.last())
		}
		if err := end(); err != nil {
			t.Errorf("got %v", err)
		}
	})
}

// A refusal, or an assignment, that does not bear the agent's mark is somebody else's, or forged. An assignment that does
// not answer the newest Seek was delayed or repeated.
func TestAgent_BelievesOnlyAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, nil, "a", "b")
		s.run, s.host = greet, to("")
		_, end := s.launch(buildStill, hclog.NewNullLogger())
		pass(3*seeking + seeking/2)
		number := s.number
		mine := wire.Header{Run: wire.Pool, Token: wire.Mark(42)}
		for _, forged := range []wire.Header{{Run: wire.Pool}, {Run: wire.Pool, Token: 1}, {Run: wire.Pool, Token: 42}, {Run: wire.Pool, Token: wire.Mark(41)}} {
			s.post(wire.Pool, &wire.Refusal{Header: forged, Reason: "forged"})
			s.post(wire.Pool, &wire.Assign{Header: forged, To: "b", Number: number, Order: 100})
		}
		s.post(wire.Pool, &wire.Assign{Header: mine, To: "b", Number: number - 1, Order: 101})
		s.post(wire.Pool, &wire.Assign{Header: mine, To: "b", Number: number + 1, Order: 102})
		synctest.Wait()
		if s.count("Hello b", 0) != 0 {
			t.Fatalf("said %v", s.all())
		}
		s.send(wire.Pool, &wire.Assign{To: "a"})
		s.post(wire.Pool, &wire.Assign{Header: mine, To: "b", Number: number, Order: s.order}) // overtaken by the one to a
		pass(seeking)
		if s.last() != "Ready a" || s.count("Hello b", 0) != 0 {
			t.Errorf("said %v", s.all())
		}
		for _, token := range []uint64{0, 42, wire.Mark(41)} {
			seeks := s.count("Seek -pool", 0)
			s.post("a", &wire.Refusal{Header: wire.Header{Run: "a", Token: token}, Reason: "forged"})
			pass(seeking)
			if s.count("Bye a", 0) != 0 || s.count("Seek -pool", 0) != seeks {
				t.Errorf("it believes the refusal of another worker: %v", s.all())
			}
		}
		pass(serving) // it says so, and what was an answer before is none any more
		s.post(wire.Pool, &wire.Assign{Header: mine, To: "b", Number: number, Order: 200})
		synctest.Wait()
		if n := s.count("Seek -pool", 0); s.number == number || s.count("Hello b", 0) != 0 {
			t.Errorf("%d times Seek, said %v", n, s.all())
		}
		if err := end(); err != nil {
			t.Error(err)
		}
	})
}

// A run that refuses the worker, or whose program cannot be built, is not gone back to at once; another is.
func TestAgent_RunThatGoesWrong(t *testing.T) {
	for name, build := range map[string]func([]byte, []byte, int) (Program, error){
		"refused":  buildStill,
		"unusable": func([]byte, []byte, int) (Program, error) { return nil, errors.New("cannot build") },
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newStage(t, nil, "a", "b")
			s.host = to("a")
			s.run = func(run string, m wire.Message) []wire.Message {
				if name == "refused" && run == "a" && wire.TypeOf(m) == wire.KindHello {
					return []wire.Message{&wire.Refusal{Reason: "no", Remedy: "none"}}
				}
				return greet(run, m)
			}
			_, end := s.launch(build, hclog.NewNullLogger())
			pass(35 * time.Second)
			if n := s.count("Hello a", 0); n < 4 || n > 6 { // after 0, 1, 3, 7, 15, 31 s
				t.Errorf("%s: tried %d times in 35 s", name, n)
			}
			at := time.Since(s.start)
			s.send(wire.Pool, &wire.Assign{To: "a"})
			synctest.Wait()
			if s.count("Hello a", at) != 0 {
				t.Errorf("%s: it went back at once", name)
			}
			s.send(wire.Pool, &wire.Assign{To: "b"})
			synctest.Wait()
			if s.count("Hello b", at) != 1 {
				t.Errorf("%s: it did not go elsewhere", name)
			}
			if err := end(); err != nil {
				t.Errorf("%s: got %v", name, err)
			}
		})
	}
}

// A program that a run refuses is built anew for the next attempt.
func TestAgent_RefusedProgramIsNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, builds := newStage(t, nil, "a"), 0
		s.host = to("a")
		s.run = func(run string, m wire.Message) []wire.Message {
			if wire.TypeOf(m) == wire.KindReady {
				return []wire.Message{&wire.Refusal{Reason: "another golden shard", Remedy: "none"}}
			}
			return greet(run, m)
		}
		_, end := s.launch(func([]byte, []byte, int) (Program, error) {
			builds++
			return still{}, nil
		}, hclog.NewNullLogger())
		pass(10 * time.Second)
		if n := s.count("Ready a", 0); n < 3 || builds != n {
			t.Errorf("%d times Ready with %d programs", n, builds)
		}
		if err := end(); err != nil {
			t.Error(err)
		}
	})
}

// A run whose coordinator has fallen silent does not hold an agent: it says Hello again for a while, and then seeks. It
// is back as soon as the host is, with the program that it had.
func TestAgent_HostRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told bytes.Buffer
		s, builds := newStage(t, nil, "a"), 0
		s.host, s.run = to("a"), greet
		_, end := s.launch(func([]byte, []byte, int) (Program, error) {
			builds++
			return still{}, nil
		}, hclog.New(&hclog.LoggerOptions{Output: &told, Level: hclog.Warn}))
		synctest.Wait()
		s.cast(nil, nil) // the host is gone
		pass(29 * time.Second)
		if n := s.count("Hello a", time.Second); n != 3 || s.count("Seek -pool", time.Second) != 2 { // after 15, 20 and 25 s; it says which run it serves after 10 and 20
			t.Errorf("%d times Hello to a silent coordinator: %v", n, s.all())
		}
		pass(10 * time.Second)
		if s.count("Bye a", 0) != 1 || s.last() != "Seek -pool" {
			t.Errorf("said %v", s.all())
		}
		if n := strings.Count(told.String(), "silent"); n != 2 { // once by the worker, once by the agent
			t.Errorf("told %d times:\n%s", n, told.String())
		}
		s.cast(to("a"), greet)
		pass(seeking)
		if s.last() != "Ready a" || builds != 1 {
			t.Errorf("last was said %q, built %d times", s.last(), builds)
		}
		if err := end(); err != nil {
			t.Error(err)
		}
	})
}

// A run that nobody leads lets an agent go too.
func TestAgent_NoWelcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, nil, "a")
		s.host = to("a")
		_, end := s.launch(buildStill, hclog.NewNullLogger())
		pass(unwelcomeAfter - seeking/2)
		if s.count("Seek -pool", 0) != 1 {
			t.Errorf("said %v", s.all())
		}
		s.cast(nil, nil)
		pass(2 * seeking)
		if s.count("Seek -pool", time.Second) == 0 {
			t.Errorf("said %v", s.all())
		}
		if err := end(); err != nil {
			t.Error(err)
		}
	})
}

// When ctx ends, the leases are handed back at once, though a shard takes longer.
func TestAgent_LeavesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, started := newStage(t, nil, "a"), make(chan bool, 8)
		s.host = to("a")
		s.run = func(run string, m wire.Message) []wire.Message {
			if wire.TypeOf(m) == wire.KindReady {
				return []wire.Message{&wire.Lease{ID: 7, Step: 3, Attempt: 1, Work: wire.Gradient, First: 0, Count: 4}, theta()}
			}
			return greet(run, m)
		}
		a, _ := s.launch(func([]byte, []byte, int) (Program, error) { return &slow{started: started}, nil }, hclog.NewNullLogger())
		<-started
		begun := time.Now()
		s.cancel()
		<-a.Left()
		synctest.Wait()
		if d := time.Since(begun); d != 0 || s.last() != "Bye a" {
			t.Errorf("left after %v, last was said %q", d, s.last())
		}
		if err := <-s.done; err != nil || time.Since(begun) > slowShard {
			t.Errorf("got %v after %v", err, time.Since(begun))
		}
	})
}

// An agent that waits says now and then for what.
func TestAgent_SaysWhatItWaitsFor(t *testing.T) {
	for want, set := range map[string]func(*stage, *AgentConfig){
		"a coordinator: none answers":      func(*stage, *AgentConfig) {},
		"work: the coordinator has no run": func(s *stage, _ *AgentConfig) { s.host = to("") },
		"the broker does not accept this nkey": func(_ *stage, c *AgentConfig) {
			c.Trouble = func() string { return "the broker does not accept this nkey" }
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			var told bytes.Buffer
			s := newStage(t, nil)
			cfg := AgentConfig{ID: "w", Token: 42, Build: buildStill}
			set(s, &cfg)
			a, err := NewAgent(cfg, s.bus, hclog.New(&hclog.LoggerOptions{Output: &told, Level: hclog.Info}))
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 70*time.Second)
			defer cancel()
			if err := a.Run(ctx); err != nil {
				t.Error(err)
			}
			if n := strings.Count(told.String(), want); n != 3 {
				t.Errorf("%q is told %d times:\n%s", want, n, told.String())
			}
		})
	}
}

func TestNewAgent_Config(t *testing.T) {
	for name, cfg := range map[string]AgentConfig{
		"id": {ID: "*", Build: buildStill}, "slots": {Slots: 1 << 20, Build: buildStill}, "build": {},
	} {
		if _, err := NewAgent(cfg, wire.NewMemory(nil), hclog.NewNullLogger()); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	a, err := NewAgent(AgentConfig{Build: buildStill}, wire.NewMemory(nil), hclog.NewNullLogger())
	if err != nil || wire.CheckName(a.cfg.ID) != nil || a.cfg.Token == 0 {
		t.Errorf("id %q, %v", a.cfg.ID, err)
	}
}
