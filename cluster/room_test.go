package cluster

import (
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
)

// When there are too many without a key, the oldest of the address that has most goes; those of addresses where a key
// was shown go last, and who has shown one stays.
func TestGuard_MakesRoom(t *testing.T) {
	now := time.Now()
	g := &guard{limiter: newLimiter(now), all: map[*connection]bool{}, log: hclog.NewNullLogger()}
	add := func(address string, n int, shown bool) (first *connection) {
		for i := range n {
			client, other := net.Pipe()
			t.Cleanup(func() { client.Close(); other.Close() })
			v := &connection{name: fmt.Sprint(address, i), address: address, since: now, shown: shown, client: client}
			g.young, g.all[v] = append(g.young, v), true
			if i == 0 {
				first = v
			}
		}
		return first
	}
	worker, home, thief := add("home", 1, true), add("home", maxStrangers-11, false), add("thief", 10, false)
	gone := func(v *connection, want bool) {
		t.Helper()
		if g.all[v] == want {
			t.Errorf("%s: gone: %v, want %v", v.name, !g.all[v], want)
		}
	}
	g.makeRoom(now)
	gone(home, false) // there is room for one
	add("home", 1, false)
	g.makeRoom(now)
	gone(home, true)
	g.limiter.know(now, "home")
	add("home", 1, false)
	g.makeRoom(now)
	gone(thief, true)
	gone(worker, false)
	if len(g.all) != maxStrangers || len(g.young) != maxStrangers {
		t.Errorf("%d connections, %d of them watched", len(g.all), len(g.young))
	}
}
