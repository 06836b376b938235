package worker

import "runtime/metrics"

// heldMemory is the memory in bytes that the Go runtime of this process holds: what it got less what it gave back.
func heldMemory() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64() - s[1].Value.Uint64()
}
