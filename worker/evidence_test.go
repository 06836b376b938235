package worker

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/wire"
)

// counter is a program whose gradient of a shard is (shard+1) times one, and with a golden shard that may fail.
type counter struct {
	still
	loaded bool
	broken error
}

func (c *counter) Load(uint64, []float32) error {
	c.loaded = true
	return nil
}

func (c *counter) Gradient(_ int, _ uint64, shard int, grad, terms []float32) error {
	if !c.loaded && c.broken != nil {
		return c.broken
	}
	for i := range grad {
		grad[i] = float32(shard + 1)
	}
	terms[0] = float32(shard) + 0.5
	return nil
}

// All that a worker says carries its token, also its Bye; Hello brings the fingerprint.
func TestWorker_Token(t *testing.T) {
	bus, kinds := wire.NewMemory(nil), map[wire.Kind]bool{}
	left := make(chan bool, 1)
	numerics := []wire.Numeric{{Kernel: "exp", Sum: 7}, {Kernel: "tanh", Sum: 1 << 63}}
	lead(t, bus, func(m wire.Message) []wire.Message {
		if kinds[wire.TypeOf(m)] = true; m.Head().Token != 42 {
			t.Errorf("%T with token %d", m, m.Head().Token)
		}
		switch m := m.(type) {
		case *wire.Hello:
			if len(m.Numerics) != 2 || m.Numerics[1] != numerics[1] {
				t.Errorf("got fingerprint %v", m.Numerics)
			}
			w := welcome
			return []wire.Message{&w}
		case *wire.Ready:
			return []wire.Message{&wire.Lease{ID: 1, Step: 3, Attempt: 1, Work: wire.Gradient, First: 0, Count: 1}, theta()}
		case *wire.Result:
			return []wire.Message{&wire.Pull{Lease: 1, First: 0, Count: 1}, &wire.Refusal{Reason: "enough"}}
		case *wire.Bye:
			left <- true
		}
		return nil
	})
	w, err := New(Config{
		Run: "r", ID: "w", Token: 42, Numerics: numerics,
		Build: func([]byte, []byte, int) (Program, error) { return &counter{}, nil },
	}, bus, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Run(t.Context()); !errors.Is(err, ErrRefused) {
		t.Errorf("got %v, want ErrRefused", err)
	}
	<-left
	for _, kind := range []wire.Kind{wire.KindHello, wire.KindReady, wire.KindResult, wire.KindBye} {
		if !kinds[kind] {
			t.Errorf("no message of kind %d came", kind)
		}
	}
}

// A token that is drawn is not 0, and another one for each worker.
func TestNew_DrawsToken(t *testing.T) {
	seen := map[uint64]bool{0: true}
	for range 100 {
		w := newWorker(t, wire.NewMemory(nil), func([]byte, []byte, int) (Program, error) { return still{}, nil })
		if seen[w.cfg.Token] {
			t.Fatalf("token %d twice", w.cfg.Token)
		}
		seen[w.cfg.Token] = true
	}
}

// Ready names the job and the golden shard, computed before any parameters are loaded; a golden shard that fails is
// told and left empty.
func TestReady_Evidence(t *testing.T) {
	golden := wire.DigestPartial([]float32{1, 1, 1, 1}, []float32{0.5})
	for name, broken := range map[string]error{"sound": nil, "broken": errors.New("no data")} {
		bus, said := wire.NewMemory(nil), &bytes.Buffer{}
		lead(t, bus, func(m wire.Message) []wire.Message {
			switch m := m.(type) {
			case *wire.Hello:
				w := welcome
				return []wire.Message{&w}
			case *wire.Ready:
				want := golden
				if broken != nil {
					want = ""
				}
				if m.Job != wire.HashData([]byte("job")) || m.Golden != want {
					t.Errorf("%s: got job %s, golden shard %s", name, m.Job, m.Golden)
				}
				return []wire.Message{&wire.End{}}
			}
			return nil
		})
		w, err := New(Config{Run: "r", ID: "w", Build: func([]byte, []byte, int) (Program, error) { return &counter{broken: broken}, nil }},
			bus, hclog.New(&hclog.LoggerOptions{Output: said, Level: hclog.Error}))
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Run(t.Context()); err != nil {
			t.Error(err)
		}
		if told := strings.Contains(said.String(), "golden shard") && strings.Contains(said.String(), "no data"); told != (broken != nil) {
			t.Errorf("%s: it is told: %v\n%s", name, told, said)
		}
	}
}

// An audit is answered with the digest of values and terms; nothing is kept that could be pulled.
func TestLease_Audit(t *testing.T) {
	for work, values := range map[wire.Work][]float32{wire.Gradient: {7, 7, 7, 7}, wire.Validate: nil} {
		bus, answers := wire.NewMemory(nil), 0
		terms := map[wire.Work][]float32{wire.Gradient: {2.5 + 3.5}, wire.Validate: {2 + 3}}[work]
		lease := func() *wire.Lease {
			return &wire.Lease{ID: 5, Step: 3, Attempt: 2, Work: work, First: 2, Count: 2, Audit: true}
		}
		lead(t, bus, func(m wire.Message) []wire.Message {
			switch m := m.(type) {
			case *wire.Hello:
				w := welcome
				return []wire.Message{&w}
			case *wire.Ready:
				return []wire.Message{theta(), lease()}
			case *wire.Result:
				if m.Digest != wire.DigestPartial(values, terms) || m.Length != 0 || m.Checksum != 0 || len(m.Terms) != 1 || m.Terms[0] != terms[0] || m.Fault != "" {
					t.Errorf("%v: got %+v", work, m)
				}
				if answers++; answers == 2 { // the second time it is announced again
					return []wire.Message{&wire.End{}}
				}
				return []wire.Message{&wire.Pull{Lease: 5, First: 0, Count: 1}, lease()}
			case *wire.Chunk:
				t.Errorf("%v: a chunk came", work)
			}
			return nil
		})
		w := newWorker(t, bus, func([]byte, []byte, int) (Program, error) { return &counter{}, nil })
		if err := w.Run(t.Context()); err != nil {
			t.Error(err)
		}
		if n := len(w.memory.partials); work == wire.Gradient && n != 2 {
			t.Errorf("%d vectors are free, want all", n)
		}
	}
}

// A message that no bus can carry is told once per kind.
func TestPublish_NeverFits(t *testing.T) {
	said := &bytes.Buffer{}
	w, err := New(Config{Run: "r", ID: "w", Build: func([]byte, []byte, int) (Program, error) { return nil, nil }},
		wire.NewMemory(nil), hclog.New(&hclog.LoggerOptions{Output: said, Level: hclog.Error}))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		w.publish("s", &wire.Chunk{Data: make([]byte, wire.MaxChunk)})                              // too large
		w.publish("s", &wire.Ready{Terms: []string{strings.Repeat("x", wire.MaxText+1)}})           // malformed
		w.publish("s", &wire.Result{Fault: strings.Repeat("x", wire.MaxText), Terms: []float32{1}}) // fits
	}
	if n := strings.Count(said.String(), "message cannot be sent"); n != 2 {
		t.Errorf("told %d times, want 2:\n%s", n, said)
	}
}
