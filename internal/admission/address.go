// Package admission decides who is let in: which requests over HTTP are answered (Guard), and which of too many
// connections makes room, so that nobody can keep others out by coming often (Oldest). It does not know what is asked.
package admission

import (
	"net"
	"net/netip"
)

// Oldest is the index of the first in a list, which is in the order of arrival, of those whose address has most
// there: who makes room is whoever takes most of it. Of addresses with as many, the one that came to that number
// first counts. The list must not be empty. It takes time linear in the list.
func Oldest[T any](list []T, address func(T) string) int {
	counts, first := map[string]int{}, map[string]int{}
	most := address(list[0])
	for i, v := range list {
		a := address(v)
		if _, known := first[a]; !known {
			first[a] = i
		}
		if counts[a]++; counts[a] > counts[most] {
			most = a
		}
	}
	return first[most]
}

// prefix is the part of an IPv6 address that a network gets; what follows, it gives out as it likes.
const prefix = 64

// Address is whom a connection from "host:port" belongs to: an IPv4 address, or the network of an IPv6 address,
// within which one client may use as many addresses as it likes. An IPv4 address written as IPv6 is IPv4. A name
// stays as it is, without the port.
func Address(remote string) string {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return remote
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	// A zone names an interface of this machine, not of the client.
	ip = ip.Unmap().WithZone("")
	if ip.Is4() {
		return ip.String()
	}
	network, err := ip.Prefix(prefix)
	if err != nil {
		return host
	}
	return network.String()
}
