package cluster

import (
	"maps"
	"time"
)

// A connection costs the broker half a millisecond of a core before it has shown a key, and more with TLS. So each
// costs whoever opens it a credit, which comes back when it has shown a key and has stayed for a while. Who has a key
// comes in as often as it likes, a fleet that starts comes in at once, and of connections without a key a few are taken
// in per second.
//
// There is a token bucket for each address, and one for all. A connection from an address without credit is closed,
// which costs all a tenth of a credit. When there is none left for all, nobody is taken in for a moment: the operating
// system keeps a short queue of those who wait, and the others come again in a second, at no cost.
const (
	// burst is what a bucket holds at most. All that start at the same moment have shown no key at first.
	burst = 1024
	// allRate is how many credits all get back per second, strangeRate an address where no key was ever shown. An
	// address where one was shown gets allRate, so that others cannot take its place.
	allRate, strangeRate = 128, 16
	// hangUp is what it costs to hang up.
	hangUp = 0.1
	// backlog is how many wait at the operating system.
	backlog = 128
	// maxAddresses bounds the addresses that are remembered.
	maxAddresses = 4096
)

// limiter decides which connections are taken in. It has no clock.
//
// Invariant: no bucket holds more than burst.
// The guard holds its lock around every call.
type limiter struct {
	all     bucket             // shared by all addresses
	buckets map[string]*bucket // by address
}

// bucket is the credit of an address, a token bucket.
type bucket struct {
	left  float64
	at    time.Time // when left was right
	known bool      // a key was shown from there
}

// newLimiter begins with full buckets, so that a fleet that starts with the broker comes in.
func newLimiter(now time.Time) *limiter {
	return &limiter{all: bucket{left: burst, at: now}, buckets: map[string]*bucket{}}
}

// refill adds what has come since it was last called.
func (b *bucket) refill(now time.Time, rate float64) {
	b.left = min(b.left+max(now.Sub(b.at).Seconds(), 0)*rate, burst)
	b.at = now
}

// pause is how long nobody is taken in. 0: one may come in now.
func (l *limiter) pause(now time.Time) time.Duration {
	l.all.refill(now, allRate)
	if l.all.left >= 1 {
		return 0
	}
	return time.Duration((1 - l.all.left) / allRate * float64(time.Second))
}

// enter takes a connection in, or reports that it is to be hung up on. It takes a credit of the address and one of
// all; what is hung up on costs the address nothing more.
func (l *limiter) enter(now time.Time, address string) bool {
	b := l.of(now, address)
	if b.known {
		b.refill(now, allRate)
	} else {
		b.refill(now, strangeRate)
	}
	if b.left < 1 {
		l.all.left -= hangUp
		return false
	}
	b.left--
	l.all.left--
	return true
}

// of returns the bucket of an address. A new one is full. When there are too many, those where no key was shown are
// forgotten.
func (l *limiter) of(now time.Time, address string) *bucket {
	b := l.buckets[address]
	if b == nil {
		if len(l.buckets) >= maxAddresses {
			maps.DeleteFunc(l.buckets, func(_ string, b *bucket) bool { return !b.known })
		}
		b = &bucket{left: burst, at: now}
		l.buckets[address] = b
	}
	return b
}

// know notes that a key was shown from an address.
func (l *limiter) know(now time.Time, address string) { l.of(now, address).known = true }

// knows reports whether a key was ever shown from an address.
func (l *limiter) knows(address string) bool {
	return l.buckets[address] != nil && l.buckets[address].known
}

// giveBack gives a credit back.
func (l *limiter) giveBack(now time.Time, address string) {
	b := l.of(now, address)
	b.left, l.all.left = min(b.left+1, burst), min(l.all.left+1, burst)
}
