//go:build unix

package bench

import "syscall"

// freeDisk is the room that a program may take on the disk of a folder.
func freeDisk(dir string) (bytes int64, known bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), true
}
