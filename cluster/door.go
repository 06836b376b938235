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
// There is a purse for each address, and one for all. Who comes from an address without credit is hung up on, which
// costs all a tenth of a credit. When there is none left for all, nobody is taken in for a moment: the operating system
// keeps a short queue of those who wait, and the others come again in a second, at no cost.
const (
	// purseBurst is what a purse holds at most. All that start at the same moment have shown no key at first.
	purseBurst = 1024
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

// door decides which connections are taken in. It has no clock.
type door struct {
	all    purse
	purses map[string]*purse // by address
}

// purse is the credit of an address.
type purse struct {
	left  float64
	at    time.Time // when left was right
	known bool      // a key was shown from there
}

func newDoor(now time.Time) *door {
	return &door{all: purse{left: purseBurst, at: now}, purses: map[string]*purse{}}
}

// refill adds what has come since it was last called.
func (p *purse) refill(now time.Time, rate float64) {
	p.left = min(p.left+max(now.Sub(p.at).Seconds(), 0)*rate, purseBurst)
	p.at = now
}

// pause is how long nobody is taken in.
func (d *door) pause(now time.Time) time.Duration {
	d.all.refill(now, allRate)
	if d.all.left >= 1 {
		return 0
	}
	return time.Duration((1 - d.all.left) / allRate * float64(time.Second))
}

// enter takes a connection in, or reports that it is to be hung up on.
func (d *door) enter(now time.Time, address string) bool {
	p := d.of(now, address)
	if p.known {
		p.refill(now, allRate)
	} else {
		p.refill(now, strangeRate)
	}
	if p.left < 1 {
		d.all.left -= hangUp
		return false
	}
	p.left--
	d.all.left--
	return true
}

// of is the purse of an address.
func (d *door) of(now time.Time, address string) *purse {
	p := d.purses[address]
	if p == nil {
		if len(d.purses) >= maxAddresses {
			maps.DeleteFunc(d.purses, func(_ string, p *purse) bool { return !p.known })
		}
		p = &purse{left: purseBurst, at: now}
		d.purses[address] = p
	}
	return p
}

// know notes that a key was shown from an address.
func (d *door) know(now time.Time, address string) { d.of(now, address).known = true }

// knows reports whether a key was ever shown from an address.
func (d *door) knows(address string) bool { return d.purses[address] != nil && d.purses[address].known }

// giveBack gives a credit back.
func (d *door) giveBack(now time.Time, address string) {
	p := d.of(now, address)
	p.left, d.all.left = min(p.left+1, purseBurst), min(d.all.left+1, purseBurst)
}
