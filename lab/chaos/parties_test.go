package chaos

import (
	"net"
	"strconv"
	"testing"
)

// A broker that is down keeps its port: the system gives it to no connection and to no listener that names none.
func TestFreePorts_AreGivenByNameAlone(t *testing.T) {
	list, err := freePorts(3)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, address := range list {
		_, text, err := net.SplitHostPort(address)
		if err != nil {
			t.Fatal(err)
		}
		port, err := strconv.Atoi(text)
		if err != nil || port < firstPort || port >= endPorts || seen[text] {
			t.Errorf("addresses %q: port %d is not from %d to %d, or twice", list, port, firstPort, endPorts-1)
		}
		seen[text] = true
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Errorf("the port is not free: %v", err)
			continue
		}
		l.Close()
	}
	if len(seen) != 3 {
		t.Errorf("%d ports, want 3: %q", len(seen), list)
	}
}
