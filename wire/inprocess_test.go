package wire

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"
)

// recorder is a broker that notes the subjects of what it carries.
func recorder() (bus *Memory, carried func() []string) {
	var mu sync.Mutex
	var subjects []string
	bus = NewMemory(func(subject string, _ []byte) []time.Duration {
		mu.Lock()
		defer mu.Unlock()
		subjects = append(subjects, subject)
		return []time.Duration{0}
	})
	return bus, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(subjects)
	}
}

func publish(t *testing.T, bus Bus, subject, text string) {
	t.Helper()
	if err := bus.Publish(subject, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

func TestInProcess_LendsGradients(t *testing.T) {
	broker, carried := recorder()
	process := NewInProcess()
	lead, hand := process.Bus(broker, true), process.Bus(broker, true)
	var got []string
	sub, err := lead.(Lender).Lend("sy.run.data", func(_ string, data []byte) { got = append(got, string(data)) })
	if err != nil {
		t.Fatal(err)
	}
	publish(t, hand, "sy.run.data.open", "chunk") // the handler has run when it returns
	if !slices.Equal(got, []string{"chunk"}) || len(carried()) != 0 {
		t.Errorf("got %q, the broker carried %q", got, carried())
	}
	if err := sub.Unsubscribe(); err != nil {
		t.Fatal(err)
	}
	publish(t, hand, "sy.run.data.open", "late")
	if len(got) != 1 || !slices.Equal(carried(), []string{"sy.run.data.open"}) {
		t.Errorf("got %q, the broker carried %q", got, carried())
	}
}

// Who is outside reaches the lender through the broker.
func TestInProcess_HearsGradientsFromOutside(t *testing.T) {
	broker, _ := recorder()
	got := make(chan string, 1)
	sub, err := NewInProcess().Bus(broker, true).(Lender).Lend("sy.run.data", func(_ string, data []byte) { got <- string(data) })
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Unsubscribe()
	publish(t, broker, "sy.run.data.open", "from afar")
	if s := <-got; s != "from afar" {
		t.Errorf("got %q", s)
	}
}

// A coordinator that does not read keeps its own publishers waiting, and not those of other runs in the process, nor runs
// that begin or end meanwhile.
func TestInProcess_LendersWaitForThemselvesAlone(t *testing.T) {
	broker, _ := recorder()
	bus := NewInProcess().Bus(broker, false)
	lend := func(run string, handle func(string, []byte)) Subscription {
		sub, err := bus.(Lender).Lend("sy."+run+".data", handle)
		if err != nil {
			t.Error(err)
		}
		return sub
	}
	taken, hold, got := make(chan struct{}), make(chan struct{}), make(chan struct{}, 1)
	still := lend("still", func(string, []byte) { close(taken); <-hold })
	other := lend("other", func(string, []byte) { got <- struct{}{} })
	held, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(held)
		publish(t, bus, "sy.still.data.open", "chunk")
	}()
	<-taken
	go func() {
		defer close(done)
		ends := lend("ends", func(string, []byte) {})
		publish(t, bus, "sy.other.data.open", "chunk")
		<-got
		for _, sub := range []Subscription{ends, other} {
			if err := sub.Unsubscribe(); err != nil {
				t.Error(err)
			}
		}
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Error("the other runs wait")
	}
	ended := make(chan struct{})
	go func() { // it waits for the publisher that is in the handler
		defer close(ended)
		if err := still.Unsubscribe(); err != nil {
			t.Error(err)
		}
	}()
	select {
	case <-ended:
		t.Error("a handler runs after the end of its subscription")
	case <-time.After(20 * time.Millisecond):
	}
	close(hold)
	<-held
	<-ended
	<-done
}

func TestInProcess_SharesParameters(t *testing.T) {
	for _, outside := range []bool{false, true} {
		broker, carried := recorder()
		process := NewInProcess()
		got := make(chan string, 10)
		for range 2 {
			sub, err := process.Bus(broker, outside).Subscribe("sy.run.theta", func(data []byte) { got <- string(data) })
			if err != nil {
				t.Fatal(err)
			}
			defer sub.Unsubscribe()
		}
		data := []byte("theta")
		if err := process.Bus(broker, outside).Publish("sy.run.theta", data); err != nil {
			t.Fatal(err)
		}
		copy(data, "later") // who publishes keeps its memory
		for range 2 {
			if s := <-got; s != "theta" {
				t.Errorf("got %q", s)
			}
		}
		if n := len(carried()); (n == 1) != outside {
			t.Errorf("outside %v: the broker carried %d messages", outside, n)
		}
	}
}

// All but the vectors of a run goes through the broker: also to workers with unusual names.
func TestInProcess_LeavesTheRestToTheBroker(t *testing.T) {
	broker, carried := recorder()
	bus := NewInProcess().Bus(broker, false)
	subjects, err := SubjectsOf("run")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{subjects.Control, subjects.All, subjects.Worker("data"), subjects.Worker("theta"), SeekSubject, AssignSubject("theta")}
	got := make(chan string, len(want))
	for _, subject := range want {
		sub, err := bus.Subscribe(subject, func([]byte) { got <- subject })
		if err != nil {
			t.Fatal(err)
		}
		defer sub.Unsubscribe()
		publish(t, bus, subject, "x")
		if s := <-got; s != subject {
			t.Errorf("%s came as %s", subject, s)
		}
	}
	if !slices.Equal(carried(), want) {
		t.Errorf("the broker carried %q, want %q", carried(), want)
	}
}

func TestInProcess_Limits(t *testing.T) {
	broker, _ := recorder()
	process := NewInProcess()
	bus := process.Bus(broker, false)
	if err := bus.Publish("sy.run.theta", make([]byte, MemoryPayload+1)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v", err)
	}
	// A subscriber that takes nothing loses what is beyond the limit, and its publisher does not wait.
	process.limit = 3
	hold, got := make(chan struct{}), make(chan string, 10)
	sub, err := bus.Subscribe("sy.run.theta", func(data []byte) { got <- string(data); <-hold })
	if err != nil {
		t.Fatal(err)
	}
	publish(t, bus, "sy.run.theta", "a")
	first := <-got // the handler holds it
	for _, text := range []string{"b", "c", "d", "e", "f"} {
		publish(t, bus, "sy.run.theta", text)
	}
	close(hold)
	if all := first + <-got + <-got + <-got; all != "abcd" {
		t.Errorf("got %q", all)
	}
	if err := sub.Unsubscribe(); err != nil {
		t.Fatal(err)
	}
	if len(got) > 0 {
		t.Errorf("got %q beyond the limit", <-got)
	}
}
