package lead

import (
	"context"
	"errors"
	"slices"
	"syscall"
	"time"
)

// RoomWait is how long what found no room waits before it is tried again. Each roomTold times the log says so.
const (
	RoomWait = 2 * time.Second
	roomTold = 30
)

// NoRoom reports whether an error says that the disk, a quota or the system has no room for something, which passes.
func NoRoom(err error) bool {
	passing := []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EMFILE, syscall.ENFILE}
	return slices.ContainsFunc(passing, func(no error) bool { return errors.Is(err, no) })
}

// AwaitRoom tries something, and again after each RoomWait as long as it finds no room: who has freed space need not
// start anything anew. told says whether the log is to say so, at the first try and then once a minute. It returns
// false if ctx ends during a wait.
func AwaitRoom(ctx context.Context, try func(told bool) (again bool)) bool {
	for n := 0; try(n%roomTold == 0); n++ {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(RoomWait):
		}
	}
	return true
}
