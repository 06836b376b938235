//go:build race

package modeltest

import "testing"

// allocations are not counted: the race detector allocates on its own.
func (c Case) allocations(*testing.T) {}
