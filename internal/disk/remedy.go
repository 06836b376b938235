package disk

import (
	"errors"
	"io/fs"
	"syscall"
)

// remedies is what helps where a file cannot be written. The first match decides.
var remedies = []struct {
	cause error
	do    string
}{
	{fs.ErrNotExist, "move the folder back to where it was"},
	{fs.ErrPermission, "make the folder writable for the user of this process"},
	{syscall.EROFS, "make the disk writable"},
	{syscall.EMFILE, "let this process open more files (ulimit -n)"},
	{syscall.ENFILE, "let this machine open more files"},
	{syscall.EFBIG, "let this process write larger files (ulimit -f)"},
}

// Remedy is what the user can do about a file that cannot be written.
func Remedy(err error) string {
	for _, r := range remedies {
		if errors.Is(err, r.cause) {
			return r.do
		}
	}
	return "free space on the disk"
}
