package worker

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/wire"
)

// crawl is a bus on a slow link: to publish a chunk takes a while.
type crawl struct {
	*wire.Memory
	perChunk time.Duration
}

func (c crawl) Publish(subject string, data []byte) error {
	if strings.Contains(subject, ".data.") {
		time.Sleep(c.perChunk)
	}
	return c.Memory.Publish(subject, data)
}

// On a link on which a result takes long, heartbeats go on between its chunks, and what is pulled again while it waits
// to be sent is sent once.
func TestServe_SlowLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := crawl{wire.NewMemory(nil), 700 * time.Millisecond}
		var chunks []int
		beats, pulled, last := 0, false, time.Now()
		subjects, _ := wire.SubjectsOf("r")
		sub, _ := bus.Hear(subjects.Data, func(_ string, data []byte) {
			m, err := wire.Decode(data)
			if err != nil {
				t.Error(err)
				return
			}
			chunks = append(chunks, m.(*wire.Chunk).Index)
		})
		defer sub.Unsubscribe()
		pull := &wire.Pull{Lease: 1, First: 0, Count: 16}
		lead(t, bus, func(m wire.Message) []wire.Message {
			switch m.(type) {
			case *wire.Hello:
				w := welcome
				w.Size, w.Chunk = 16, 4
				return []wire.Message{&w}
			case *wire.Ready:
				messages := []wire.Message{&wire.Lease{ID: 1, Step: 3, Attempt: 1, Work: wire.Gradient, First: 0, Count: 1}}
				for i := range 16 {
					messages = append(messages, &wire.Theta{Step: 3, Index: i, Count: 16, CRC: wire.Checksum(make([]byte, 4)), Data: make([]byte, 4)})
				}
				return messages
			case *wire.Result:
				pulled = true
				return []wire.Message{pull}
			case *wire.Heartbeat:
				if gap := time.Since(last); gap > 2*time.Second {
					t.Errorf("%v between two heartbeats", gap)
				}
				last = time.Now()
				if beats++; pulled && beats < 6 {
					return []wire.Message{&wire.Pull{Lease: 1, First: 14, Count: 2}}
				}
			}
			return nil
		})
		w := newWorker(t, bus, func([]byte, []byte, int) (Program, error) { return &vast{}, nil })
		ctx, cancel := context.WithTimeout(t.Context(), 14*time.Second)
		defer cancel()
		if err := w.Run(ctx); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		want := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
		if !slices.Equal(chunks, want) {
			t.Errorf("sent the chunks %v, want %v", chunks, want)
		}
		if beats < 9 {
			t.Errorf("%d heartbeats in 14 s", beats)
		}
	})
}

// vast is a program of 16 parameters.
type vast struct{ still }

func (vast) Size() int { return 16 }

// What the coordinator pulls of a lease that is over is not sent.
func TestServe_DroppedLease(t *testing.T) {
	bus := wire.NewMemory(nil)
	w := newWorker(t, bus, func([]byte, []byte, int) (Program, error) { return still{}, nil })
	w.install(build{program: still{}})
	w.chunks = wire.NewChunking(4, 16)
	l := &lease{Lease: wire.Lease{ID: 1}, chunks: w.chunks, memory: w.memory, crcs: make([]uint32, 1), done: 1, handed: 1}
	l.block.Count = 1
	w.leases = append(w.leases, l)
	w.serve(&wire.Pull{Lease: 1, First: 0, Count: 1})
	if len(w.sending) != 1 || w.toSend() == nil {
		t.Fatalf("%d chunks wait", len(w.sending))
	}
	l.tree = nil
	l.dropped = true
	w.leases = w.leases[:0]
	w.dropLeases()
	if len(w.sending) != 0 || w.toSend() != nil {
		t.Errorf("%d chunks wait", len(w.sending))
	}
}

// Parameters that arrive slowly are not asked for again while they do; what is missing is.
func TestNeed_SlowLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus, needs, mu := wire.NewMemory(nil), [][]wire.Range{}, sync.Mutex{}
		s := &wire.Subjects{}
		*s, _ = wire.SubjectsOf("r")
		send := func(i int) {
			m := &wire.Theta{Step: 3, Index: i, Count: 16, CRC: wire.Checksum(make([]byte, 4)), Data: make([]byte, 4)}
			*m.Head() = wire.Header{Run: "r", Term: 1}
			data, err := wire.NewEncoder().Encode(m)
			if err == nil {
				err = bus.Publish(s.Worker("w"), data)
			}
			if err != nil {
				t.Error(err)
			}
		}
		lead(t, bus, func(m wire.Message) []wire.Message {
			switch m := m.(type) {
			case *wire.Hello:
				w := welcome
				w.Size, w.Chunk = 16, 4
				return []wire.Message{&w}
			case *wire.Need:
				mu.Lock()
				needs = append(needs, m.Ranges)
				mu.Unlock()
			}
			return nil
		})
		w := newWorker(t, bus, func([]byte, []byte, int) (Program, error) { return &vast{}, nil })
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- w.Run(ctx) }()
		synctest.Wait()
		for i := range 12 { // slower than a quarter of the heartbeat
			send(i)
			time.Sleep(800 * time.Millisecond)
		}
		synctest.Wait()
		mu.Lock()
		slow := len(needs)
		mu.Unlock()
		if slow > 5 {
			t.Errorf("asked %d times for what is on its way", slow)
		}
		time.Sleep(20 * time.Second)
		synctest.Wait()
		mu.Lock()
		if n := len(needs) - slow; n < 3 || n > 8 || !slices.Equal(needs[len(needs)-1], []wire.Range{{First: 12, Count: 4}}) {
			t.Errorf("asked %d times in 20 s for what is missing: %v", n, needs)
		}
		mu.Unlock()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// A worker of one run only tries on for ever when its coordinator is silent, and says so once; an answer ends it.
func TestRun_SilentCoordinator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told bytes.Buffer
		bus, hellos, away := wire.NewMemory(nil), 0, false
		lead(t, bus, func(m wire.Message) []wire.Message {
			if wire.TypeOf(m) == wire.KindHello {
				if hellos++; hellos == 1 || hellos == 5 {
					w := welcome
					return []wire.Message{&w}
				}
			}
			if wire.TypeOf(m) == wire.KindBye {
				away = true
			}
			return nil
		})
		w, err := New(Config{Run: "r", ID: "w", Build: buildStill}, bus, hclog.New(&hclog.LoggerOptions{Output: &told, Level: hclog.Info}))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 41*time.Second)
		defer cancel()
		if err := w.Run(ctx); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		// Silent from second 15 on: Hello then and every 5 seconds, until an answer comes at 30.
		if hellos != 5 || !away {
			t.Errorf("%d times Hello", hellos)
		}
		if silent, again := strings.Count(told.String(), "is silent"), strings.Count(told.String(), "answers again"); silent != 1 || again != 1 {
			t.Errorf("told:\n%s", told.String())
		}
	})
}
