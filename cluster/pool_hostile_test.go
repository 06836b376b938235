package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/nats-io/nats.go"

	"github.com/switchyard-ml/switchyard/cluster"
	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/lead"
	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/worker"
)

// yard is a pool with one run on a broker with keys. Honest workers have the key worker-second.nk, the thief has
// worker.nk. Until release, honest workers hold the run at step 10, so that a thief has all the time that it needs.
type yard struct {
	*site
	t      *testing.T
	keeper *cluster.BanList
	lead   *coordinator.Coordinator
	log    *logged
	pool   *lead.Dispatcher
	done   chan error // of the run
	held   chan struct{}
	once   sync.Once
	agents []func() error
	thief  *nats.Conn
	key    string // of the thief
	number atomic.Uint64
	views  atomic.Int64 // of the dispatcher, one for each decision
}

var ours = []wire.Numeric{{Kernel: "dot", Sum: 1}}

func newYard(t *testing.T, honest int) *yard {
	t.Helper()
	dir, log := keyFolder(t), &logged{}
	logger := hclog.New(&hclog.LoggerOptions{Output: log, Level: hclog.Info})
	b, err := cluster.Start(cluster.Config{Listen: "127.0.0.1:0", Auth: dir + "/" + cluster.Auth, Bans: wire.BansSubject, Log: logger.Named("broker")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Shutdown)
	y := &yard{site: &site{t, dir, b.URL(), logger}, t: t, log: log, done: make(chan error, 1), held: make(chan struct{}), key: keyName(t, dir, cluster.WorkerKey)}
	bus := y.connect(cluster.CoordinatorKey)
	if y.keeper, err = cluster.NewBanList(t.TempDir(), bus, logger); err != nil {
		t.Fatal(err)
	}
	cfg := toyConfig(t, 20, 8)
	cfg.Gate, cfg.FailureDetection, cfg.Numerics = y.keeper.Gate, 20*time.Second, ours
	if y.lead, err = coordinator.New(cfg, initial(hostileSize), bus, nil, logger.Named("coordinator")); err != nil {
		t.Fatal(err)
	}
	y.pool = lead.NewDispatcher(lead.PoolConfig{Numerics: ours, Gate: y.keeper.Gate, Log: logger, View: y.view}, bus)
	y.pool.Open(lead.Run{Name: "toy", Limit: 8}, false)
	ctx, cancel := context.WithCancel(t.Context())
	var parts sync.WaitGroup
	parts.Go(func() { y.keeper.Run(ctx) })
	parts.Go(func() {
		if err := y.pool.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	go func() { y.done <- y.lead.Run(t.Context()) }()
	t.Cleanup(func() { cancel(); parts.Wait() })
	for i := range honest {
		y.hire(fmt.Sprintf("honest-%d", i))
	}
	y.until("the run is held", func() bool { return y.lead.Stats().Step >= 10 })
	y.until("all honest workers are members", func() bool { return len(y.lead.Stats().Members) == honest })
	y.thief = patient(t, y.url, holder(t, dir, cluster.WorkerKey))
	return y
}

func (y *yard) view() lead.PoolView {
	defer y.views.Add(1)
	var v lead.PoolView
	for _, m := range y.lead.Stats().Members {
		v.Members = append(v.Members, lead.Member{Run: "toy", ID: m.ID, Mark: m.Mark, Slots: m.Slots, Proven: m.Accepted > 0})
	}
	return v
}

// hire starts an honest worker of the pool.
func (y *yard) hire(id string) {
	y.t.Helper()
	program := func() *toy {
		return &toy{size: hostileSize, before: func(step uint64) {
			if step >= 10 {
				select {
				case <-y.held:
				case <-y.t.Context().Done():
				}
			}
		}}
	}
	agent, err := worker.NewAgent(worker.AgentConfig{
		ID: id, Numerics: ours, Build: func([]byte, []byte, int) (worker.Program, error) { return program(), nil },
	}, y.connect("worker-second.nk"), y.site.log.Named(id))
	if err != nil {
		y.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(y.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- agent.Run(ctx) }()
	y.agents = append(y.agents, func() error { cancel(); return <-ended })
}

// say publishes a message as the thief.
func (y *yard) say(subject string, m wire.Message) {
	y.t.Helper()
	data, err := wire.NewEncoder().Encode(m)
	if err != nil {
		y.t.Fatal(err)
	}
	y.shout(subject, data)
}

func (y *yard) shout(subject string, data []byte) {
	_ = y.thief.Publish(wire.By(subject, y.key), data) // the broker may have hung up
}

// seek is a Seek under a name of the thief's choice.
func (y *yard) seek(id string, token uint64, slots int) *wire.Seek {
	return &wire.Seek{
		Header: wire.Header{Run: wire.Pool, From: id, Token: token}, Slots: slots, Numerics: ours, Number: y.number.Add(1),
	}
}

// until waits for something that has to happen.
func (y *yard) until(what string, is func() bool) {
	y.t.Helper()
	for from := time.Now(); !is(); time.Sleep(time.Millisecond) {
		if time.Since(from) > 2*time.Minute {
			y.t.Fatalf("never: %s\n%s", what, y.log)
		}
	}
}

// banned waits until the thief is banned, and known by its key and its connection.
func (y *yard) banned() {
	y.t.Helper()
	y.until("the thief is banned", func() bool { return y.keeper.Gate.Banned(y.key) })
	y.until("the broker closes its connection", func() bool {
		text := y.log.String()
		return strings.Contains(text, "key banned") && strings.Contains(text, "key="+y.key) && strings.Contains(text, "connection closed: its key is banned")
	})
	y.until("the file has the ban, and no other", func() bool {
		list, err := cluster.Load(y.keeper.Dir())
		return err == nil && len(list) == 1 && list[0].Key == y.key
	})
}

// finish lets the run go to its end: the bits are those of a run without a thief, and no honest worker has ended.
func (y *yard) finish() {
	y.t.Helper()
	y.release()
	if err := <-y.done; err != nil {
		y.t.Fatal(err)
	}
	for i, end := range y.agents {
		if err := end(); err != nil {
			y.t.Errorf("honest worker %d ended: %v", i, err)
		}
	}
	if got := hash(y.lead); got != undisturbed(y.t, toyConfig(y.t, 20, 8), hostileSize) {
		y.t.Errorf("SHA-256 %s is not that of a run without a thief", got)
	}
	for _, who := range y.lead.Stats().Quarantined {
		if strings.HasPrefix(who, "honest") {
			y.t.Errorf("cut off: %s", who)
		}
	}
	if strings.Contains(y.log.String(), "honest-0: refused") {
		y.t.Errorf("an honest worker was refused:\n%s", y.log)
	}
}

func (y *yard) release() { y.once.Do(func() { close(y.held) }) }

// A Seek under the name of another, with a wrong fingerprint or another version, a replayed one, and one with the name of
// a coordinator, reach nobody else: the honest workers stay where they are.
func TestPoolHostile_ForgedSeeks(t *testing.T) {
	y := newYard(t, 2)
	for _, id := range []string{"honest-0", "honest-1", wire.Name("honest-0", keyName(t, y.dir, "worker-second.nk"))} {
		wrong := y.seek(id, 7, 1)
		wrong.Numerics = []wire.Numeric{{Kernel: "dot", Sum: 666}}
		y.say(wire.SeekSubject, wrong)
		y.say(wire.SeekSubject, wrong) // replayed
		y.say(wire.SeekSubject, y.seek(id, 8, 1024))
		old := append([]byte{0x97, wire.Version + 1, byte(wire.KindSeek), 0xa5}, wire.Pool...)
		old = append(append(old, 0xa0|byte(len(id)&31)), id[:len(id)&31]...)
		y.shout(wire.SeekSubject, append(old, 0, 0, 0))
	}
	y.say(wire.SeekSubject, &wire.Assign{Header: wire.Header{Run: wire.Pool}, To: "elsewhere"})
	y.say("sy.toy.control", &wire.End{Header: wire.Header{Run: "toy", Term: 1}, Reason: "forged"})
	y.say("sy.toy.control", &wire.Theta{Header: wire.Header{Run: "toy", Term: 9}, Step: 99, Count: 1})
	y.say(wire.SeekSubject, y.seek("last", 9, 1))
	y.until("the dispatcher has seen the last", func() bool { return strings.Contains(y.log.String(), "worker=last@"+y.key) })
	if !strings.Contains(y.log.String(), "arithmetic differs") {
		t.Errorf("nobody was refused:\n%s", y.log)
	}
	var members []string
	for _, m := range y.lead.Stats().Members {
		members = append(members, m.ID)
	}
	slices.Sort(members)
	second := keyName(t, y.dir, "worker-second.nk")
	if want := []string{wire.Name("honest-0", second), wire.Name("honest-1", second)}; !slices.Equal(members, want) {
		t.Errorf("members %q, want %q", members, want)
	}
	y.finish()
}

// What a host or a coordinator says cannot be said with a worker's key: no second host of runs, no assignment that was
// recorded and comes minutes later, no end of a run.
func TestPoolHostile_SecondHost(t *testing.T) {
	y := newYard(t, 1)
	second := keyName(t, y.dir, "worker-second.nk")
	for _, subject := range []string{
		"sypool.worker." + second + ".honest-0", "sypool.worker." + y.key + ".honest-0", "sy.toy.worker." + second + ".honest-0", "sy.toy.all",
		"sy.toy.theta", wire.BansSubject, "switchyard.runs.stop", "sypool.seek." + second,
	} {
		checkPublish(t, y.url, holder(t, y.dir, cluster.WorkerKey), subject, false)
	}
	for _, subject := range []string{"sypool.seek.*", "sypool.seek." + y.key, "sy.toy.control.*", "sypool.worker." + second + ".*", "sy.toy.worker." + second + ".honest-0"} {
		checkSubscribe(t, y.url, holder(t, y.dir, cluster.WorkerKey), subject, false)
	}
	y.finish()
}

// Phantoms with a thousand slots each, a thousand of them if the machine is fast, do not count: a second run does not get
// all honest workers, and a worker that comes later is taken in. That they fill the pool for their own key alone, and are
// no more than so many, is tested in package pool.
func TestPoolHostile_Phantoms(t *testing.T) {
	t.Parallel()
	y := newYard(t, 2)
	stop := make(chan struct{})
	var phantoms sync.WaitGroup
	phantoms.Go(func() {
		for {
			for i := range 1100 {
				select {
				case <-stop:
					return
				default:
				}
				y.say(wire.SeekSubject, y.seek(fmt.Sprint("phantom", i), uint64(i)+1, 1024))
			}
			time.Sleep(700 * time.Millisecond)
		}
	})
	y.until("there are many of them", func() bool { return strings.Count(y.log.String(), "worker found: worker=phantom") > 100 })
	y.hire("honest-late")
	y.until("a worker that came later is a member", func() bool { return len(y.lead.Stats().Members) == 3 })
	y.pool.Open(lead.Run{Name: "second", Limit: 8}, false)
	defer y.pool.Close("second")
	decided := y.views.Load()
	y.until("the pool has decided three times", func() bool { return y.views.Load() >= decided+3 })
	if n := len(y.lead.Stats().Members); n == 0 {
		t.Error("all honest workers have left the run for another, as if the phantoms were there")
	}
	close(stop)
	phantoms.Wait()
	y.pool.Close("second")
	y.finish()
}

// Each kind of flood is dropped, the thief is named and cut off, and the run goes on to the same bits.
func TestPoolHostile_Floods(t *testing.T) {
	t.Parallel()
	run := wire.Header{Run: "toy", From: "mallory", Term: 1, Token: 99}
	encode := func(m wire.Message) []byte {
		data, err := wire.NewEncoder().Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	for name, flood := range map[string]struct {
		subject string
		data    []byte
	}{
		"hello":   {"sy.toy.control", encode(&wire.Hello{Header: run, Slots: 1, Numerics: ours})},
		"need":    {"sy.toy.control", encode(&wire.Need{Header: run, Step: 10, Ranges: []wire.Range{{First: 0, Count: 1}}})},
		"result":  {"sy.toy.control", encode(&wire.Result{Header: run, Lease: 1, Step: 10, Count: 1})},
		"chunk":   {"sy.toy.data", encode(&wire.Chunk{Header: run, Lease: 1, Step: 10, Data: make([]byte, 60_000)})},
		"garbage": {"sy.toy.data", make([]byte, 1<<20)},
		"seek":    {wire.SeekSubject, encode(&wire.Seek{Header: wire.Header{Run: wire.Pool, From: "mallory", Token: 1}, Slots: 1, Numerics: ours})},
		"noise":   {wire.SeekSubject, []byte("GET / HTTP/1.1\r\n\r\n")},
	} {
		t.Run(name, func(t *testing.T) {
			y := newYard(t, 1)
			stop := make(chan struct{})
			var flooding sync.WaitGroup
			flooding.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						y.shout(flood.subject, flood.data)
						if y.keeper.Gate.Banned(y.key) {
							time.Sleep(time.Millisecond) // it tries on, and leaves the others a processor
						}
					}
				}
			})
			y.banned()
			y.finish() // while the thief tries on
			close(stop)
			flooding.Wait()
			if _, err := nats.Connect(y.url, holder(t, y.dir, cluster.WorkerKey), nats.NoReconnect()); !errors.Is(err, nats.ErrAuthorization) {
				t.Errorf("the thief is let in: %v", err)
			}
			if changed, err := y.keeper.Unban(y.key); err != nil || !changed {
				t.Errorf("unban: %v, %v", changed, err)
			}
			y.until("who is let in again can connect", y.thief.IsConnected)
		})
	}
}

// A ban outlives the coordinator: it is in the file beside the runs.
func TestPoolHostile_BanSurvivesRestart(t *testing.T) {
	y := newYard(t, 1)
	if changed, err := y.keeper.Ban(y.key, "stolen"); err != nil || !changed {
		t.Fatal(changed, err)
	}
	again, err := cluster.NewBanList(y.keeper.Dir(), y.connect(cluster.CoordinatorKey), hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	if !again.Gate.Banned(y.key) || again.Gate.Banned(keyName(t, y.dir, "worker-second.nk")) {
		t.Errorf("bans after a restart: %+v", again.Gate.Bans())
	}
	y.finish()
}
