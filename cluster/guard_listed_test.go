package cluster

import (
	"net"
	"testing"
)

// TestListed: a client is found in the server's list by what the server was told of it.
func TestListed(t *testing.T) {
	for want, a := range map[string]net.TCPAddr{
		"10.0.0.1:4222":    {IP: net.ParseIP("::ffff:10.0.0.1"), Port: 4222},
		"[fe80::1]:4222":   {IP: net.ParseIP("fe80::1"), Port: 4222, Zone: "eth0"},
		"[2001:db8::7]:80": {IP: net.ParseIP("2001:db8::7"), Port: 80},
	} {
		if got := listed(&a); got != want {
			t.Errorf("%s is listed as %s, want %s", &a, got, want)
		}
	}
}
