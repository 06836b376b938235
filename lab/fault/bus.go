package fault

import (
	"bytes"
	"time"

	"github.com/switchyard-ml/switchyard/wire"
)

// Bus returns a bus that injects faults into the messages sent over the given one. Each message has one sender,
// so that at most one process changes it. A cut-off process receives nothing, either. What the run has to make
// good: a message may be lost, come twice, come late and out of order, or have one bit that is wrong.
func (i *Injector) Bus(bus wire.Bus) wire.Bus {
	if i == nil {
		return bus
	}
	return &faultyBus{Bus: bus, faults: i}
}

// faultyBus is a bus whose sender draws the fate of each message. Messages longer than MaxPayload are passed on,
// and refused by the bus itself.
type faultyBus struct {
	wire.Bus
	faults *Injector
}

// fate says what happens to a message.
type fate struct {
	drop, dup bool
	flip      int           // index of the bit that is changed; -1: none
	delay     time.Duration // of the message; of one that is repeated, the second copy
}

// decide draws the fate of a message of n bytes, and counts it. A message that is lost has no other fate;
// otherwise the kinds are drawn one by one, and may come together. A share of 0 draws nothing.
func (i *Injector) decide(n int) fate {
	i.mu.Lock()
	defer i.mu.Unlock()
	s, f := &i.spec, fate{flip: -1}
	strikes := func(share float64, kind Kind) bool {
		if share == 0 || i.messages.Float64() >= share {
			return false
		}
		i.counts.add(kind)
		return true
	}
	if s.Partition.Length > 0 && i.during(&i.cut, Partition) || strikes(s.Drop, Drop) {
		f.drop = true
		return f
	}
	f.dup = strikes(s.Dup, Dup)
	if n > 0 && strikes(s.Corrupt, Corrupt) {
		f.flip = i.messages.IntN(8 * n)
	}
	if s.Delay.Most > 0 && strikes(s.Delay.Share, Delayed) {
		f.delay = time.Duration(i.messages.Float64() * float64(s.Delay.Most))
	}
	return f
}

// Publish implements wire.Bus. A message that is lost or delayed counts as sent. Of one that is repeated, the
// first copy goes out at once and as it is; the bit and the delay are those of the second. data is not changed,
// and not used after Publish has returned.
func (b *faultyBus) Publish(subject string, data []byte) error {
	if len(data) > b.MaxPayload() {
		return b.Bus.Publish(subject, data)
	}
	f := b.faults.decide(len(data))
	if f.drop {
		return nil
	}
	if f.dup {
		if err := b.Bus.Publish(subject, data); err != nil {
			return err
		}
	}
	// The caller may use its bytes again as soon as Publish returns.
	if f.flip >= 0 || f.delay > 0 {
		data = bytes.Clone(data)
	}
	if f.flip >= 0 {
		data[f.flip/8] ^= 1 << (f.flip % 8)
	}
	if f.delay == 0 {
		return b.Bus.Publish(subject, data)
	}
	time.AfterFunc(f.delay, func() { b.faults.late(b.Bus, subject, data) })
	return nil
}

// late sends a delayed message. If the bus cannot send by then, or the injector is closed, the message is lost.
func (i *Injector) late(bus wire.Bus, subject string, data []byte) {
	i.mu.Lock()
	closed := i.closed
	i.mu.Unlock()
	if !closed {
		_ = bus.Publish(subject, data)
	}
}

// Subscribe implements wire.Bus.
func (b *faultyBus) Subscribe(subject string, handle func(data []byte)) (wire.Subscription, error) {
	return b.Bus.Subscribe(subject, func(data []byte) {
		if !b.faults.cutOff() {
			handle(data)
		}
	})
}

// Hear implements wire.Bus.
func (b *faultyBus) Hear(subject string, handle func(key string, data []byte)) (wire.Subscription, error) {
	return b.Bus.Hear(subject, func(key string, data []byte) {
		if !b.faults.cutOff() {
			handle(key, data)
		}
	})
}
