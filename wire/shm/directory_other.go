//go:build !linux

package shm

import "context"

// Open implements Host.
func (Directory) Open(int, int) (Server, error) { return nil, ErrUnsupported }

// Join implements Host.
func (Directory) Join(context.Context, string, uint64, int) (Link, error) {
	return nil, ErrUnsupported
}
