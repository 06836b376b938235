package fault

import (
	"fmt"
	"syscall"
)

// DiskFull returns ENOSPC while the disk is full, and nil otherwise: what makes or writes a file asks it first.
func (i *Injector) DiskFull() error {
	if i == nil || i.spec.DiskFull.Length == 0 {
		return nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.during(&i.full, DiskFull) {
		return fmt.Errorf("injected: %w", syscall.ENOSPC)
	}
	return nil
}
