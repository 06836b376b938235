package wire

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMemory_OrderAndOwnership(t *testing.T) {
	bus := NewMemory(nil)
	got := make(chan []byte, 100)
	sub, err := bus.Subscribe("a", func(data []byte) { got <- data })
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Unsubscribe()
	data := make([]byte, 1)
	for i := range 100 {
		data[0] = byte(i) // Publish must not keep data
		if err := bus.Publish("a", data); err != nil {
			t.Fatal(err)
		}
		bus.Publish("b", data)
	}
	for i := range 100 {
		if d := <-got; d[0] != byte(i) {
			t.Fatalf("message %d: got %d", i, d[0])
		}
	}
	if err := bus.Publish("a", make([]byte, MemoryPayload+1)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v, want ErrTooLarge", err)
	}
}

func TestMemory_Faults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fates := map[string][]time.Duration{"drop": nil, "twice": {0, time.Second}, "late": {time.Minute}}
		bus := NewMemory(func(_ string, data []byte) []time.Duration { return fates[string(data)] })
		start := time.Now()
		var log []string
		sub, _ := bus.Subscribe("a", func(data []byte) {
			log = append(log, fmt.Sprintf("%s@%v", data, time.Since(start)))
		})
		for _, m := range []string{"late", "drop", "twice"} {
			bus.Publish("a", []byte(m))
		}
		time.Sleep(2 * time.Minute)
		sub.Unsubscribe()
		bus.Publish("a", []byte("twice"))
		synctest.Wait()
		if got, want := fmt.Sprint(log), "[twice@0s twice@1s late@1m0s]"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		time.Sleep(time.Minute)
	})
}

// A handler that waits for room in its inbox does not keep its subscription from ending.
func TestUnsubscribe_EmptiesTheInbox(t *testing.T) {
	bus, inbox := NewMemory(nil), make(chan []byte)
	waits := make(chan bool, 3)
	sub, err := bus.Subscribe("a", func(data []byte) { waits <- true; inbox <- data })
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		publish(t, bus, "a", "text")
	}
	<-waits
	if err := Unsubscribe(sub, inbox); err != nil {
		t.Fatal(err)
	}
	if len(bus.subscribers.of("a")) != 0 {
		t.Error("it is still subscribed")
	}
}

// A subscriber that has ended leaves nothing behind: a process that leads one run after the other subscribes to ever
// new subjects, and what waited in a queue can be large.
func TestQueues_NothingIsLeftBehind(t *testing.T) {
	var s queues
	for _, subject := range []string{"sy.a.theta", "sy.b.theta"} {
		first := s.subscribe(subject, 0, func(string, []byte) {})
		second := s.subscribe(subject, 0, func(string, []byte) {})
		for _, q := range []*queue{first, second} {
			if err := q.Unsubscribe(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(s.all) != 0 {
		t.Errorf("%d subjects without a subscriber are kept", len(s.all))
	}
}
