package cluster

import (
	"fmt"
	"testing"
	"time"
)

// knockFor counts how many of those who come from addresses, each of them once a millisecond, are taken in. While the
// limiter pauses, nobody comes.
func knockFor(d *limiter, from time.Time, length time.Duration, addresses ...string) map[string]int {
	in := map[string]int{}
	for now := from; now.Before(from.Add(length)); now = now.Add(time.Millisecond) {
		for _, a := range addresses {
			if d.pause(now) == 0 && d.enter(now, a) {
				in[a]++
			}
		}
	}
	return in
}

func TestLimiter_FleetsComeInAtOnce(t *testing.T) {
	begin := time.Now()
	d := newLimiter(begin)
	for again := range 3 {
		now := begin.Add(time.Duration(again) * time.Second)
		for i := range 1000 {
			if d.pause(now) != 0 || !d.enter(now, "10.0.0.1") {
				t.Fatalf("time %d: worker %d of a fleet is not let in", again, i)
			}
		}
		for range 1000 { // they have shown their keys, and stay
			d.know(now, "10.0.0.1")
			d.giveBack(now, "10.0.0.1")
		}
	}
}

// Who shows no key is taken in rarely after a while, and hung up on at little cost; who comes from elsewhere is taken in.
func TestLimiter_Strangers(t *testing.T) {
	begin := time.Now()
	d := newLimiter(begin)
	first := knockFor(d, begin, 10*time.Second, "thief")
	if n := first["thief"]; n < burst || n > burst+11*strangeRate {
		t.Errorf("%d connections in ten seconds", n)
	}
	later := begin.Add(10 * time.Second)
	d.know(later, "known")
	both := knockFor(d, later, 10*time.Second, "thief", "known", "new")
	if n := both["thief"]; n > 11*strangeRate {
		t.Errorf("%d connections of the thief beside others", n)
	}
	if both["known"] < 100 || both["new"] < 100 {
		t.Errorf("taken in: %v", both)
	}
}

// However many addresses knock, so many are taken in at most, and nobody between.
func TestLimiter_ManyAddresses(t *testing.T) {
	begin := time.Now()
	d := newLimiter(begin)
	var thieves []string
	for i := range 50 {
		thieves = append(thieves, fmt.Sprint("thief", i))
	}
	sum := 0
	for _, n := range knockFor(d, begin, 10*time.Second, thieves...) {
		sum += n
	}
	if sum < burst || sum > burst+11*allRate {
		t.Errorf("%d connections in ten seconds", sum)
	}
	for i := range 3 * maxAddresses {
		d.of(begin, fmt.Sprint("other", i))
	}
	if len(d.buckets) > maxAddresses {
		t.Errorf("%d addresses are remembered", len(d.buckets))
	}
}

// An address where a key was shown is not forgotten, and gets more credit than others.
func TestLimiter_KnowsAddresses(t *testing.T) {
	begin := time.Now()
	d := newLimiter(begin)
	d.know(begin, "home")
	for i := range 2 * maxAddresses {
		d.of(begin, fmt.Sprint("other", i))
	}
	if !d.knows("home") || d.knows("other1") || d.knows("nobody") {
		t.Error("it does not know who has shown a key")
	}
	d.of(begin, "home").left, d.of(begin, "strange").left = 0, 0
	in := map[string]int{}
	for at := begin; at.Before(begin.Add(10 * time.Second)); at = at.Add(time.Millisecond) {
		d.all.left = burst
		for _, a := range []string{"home", "strange"} {
			if d.enter(at, a) {
				in[a]++
			}
		}
	}
	if in["strange"] > 10*strangeRate+1 || in["home"] < 9*allRate {
		t.Errorf("taken in: %v", in)
	}
}
