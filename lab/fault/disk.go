package fault

import (
	"fmt"
	"syscall"

	"github.com/switchyard-ml/switchyard/internal/disk"
)

// Disk returns a disk that is full from time to time. Then no file or folder can be made, and nothing can be
// written: such an act fails with ENOSPC. A write that fails has written a part. Files can still be read,
// flushed, renamed and removed. What was complete before has to stay so.
func (i *Injector) Disk(d disk.Disk) disk.Disk {
	if i == nil || i.spec.DiskFull.Length == 0 {
		return d
	}
	return disk.Faulty(d, i.fill)
}

// fill decides whether an act finds the disk full, and how many bytes of a write still fit.
func (i *Injector) fill(act disk.Act) (room int, err error) {
	switch act.Kind {
	case "create", "append", "write", "mkdir":
	default:
		return 0, nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.during(&i.full, DiskFull) {
		return 0, nil
	}
	return i.messages.IntN(act.Bytes + 1), fmt.Errorf("%s %s: injected: %w", act.Kind, act.Path, syscall.ENOSPC)
}
