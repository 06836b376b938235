package bench

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"runtime"
	"strconv"
	"strings"

	"github.com/switchyard-ml/switchyard/internal/terminal"
)

// littleMemory is a bound below which there is little memory.
const littleMemory = 512 << 20

// Memory says how much memory programs can still take: what the machine has available, or less if control groups limit
// it, as they do in a container.
func Memory() Finding {
	root := os.DirFS("/")
	free, known := machineMemory(root)
	left, limited := groupMemory(root)
	if limited && (!known || left < free) {
		return memory(left, true, "available within the limit of this container")
	}
	return memory(free, known, "available")
}

// memory judges the free bytes, if they are known. of says what they are.
func memory(free int64, known bool, of string) Finding {
	if !known {
		return Finding{"memory", OK, "not known on " + runtime.GOOS, ""}
	}
	f := Finding{"memory", OK, terminal.Bytes(free) + " " + of, ""}
	if free < littleMemory {
		f.State, f.Do = Doubtful, "end other programs; what a worker needs: switchyard train PRESET --dry-run"
	}
	return f
}

// machineMemory reads MemAvailable of Linux, in bytes; it is not known elsewhere.
func machineMemory(root fs.FS) (bytes int64, known bool) {
	text, err := fs.ReadFile(root, "proc/meminfo")
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		if n, err := fmt.Sscanf(line, "MemAvailable: %d kB", &bytes); n == 1 && err == nil {
			return bytes << 10, true
		}
	}
	return 0, false
}

// hierarchy says where a version of control groups has the memory of a group: the folder in which groups are, the
// files of a group with its limit and its use, and the line of memory.stat with file pages that the kernel can drop.
type hierarchy struct{ folder, limit, use, dropped string }

// groupMemory is the smallest number of bytes that a limit on this process leaves: of its control group or one above
// it, limit − use + what the kernel can drop. Where the groups above cannot be seen, as in a container, the root that
// is seen counts. It is not limited if no group has a limit.
func groupMemory(root fs.FS) (left int64, limited bool) {
	text, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		// number:controllers:path, where version 2 has the number 0 and no controllers
		number, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, group, _ := strings.Cut(rest, ":")
		h := hierarchy{"sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"}
		switch {
		case controllers == "memory":
			h = hierarchy{
				"sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
				"total_inactive_file",
			}
		case number != "0":
			continue
		}
		for group = path.Clean("/" + group); ; group = path.Dir(group) {
			if n, ok := h.left(root, path.Join(h.folder, group)); ok && (!limited || n < left) {
				left, limited = n, true
			}
			if group == "/" {
				break
			}
		}
	}
	return left, limited
}

// left is what the limit of the group in a folder leaves, if it has one.
func (h hierarchy) left(root fs.FS, folder string) (int64, bool) {
	limit, ok := number(root, path.Join(folder, h.limit))
	if !ok || limit > 1<<60 { // version 1 has a huge limit where there is none, version 2 the word max
		return 0, false
	}
	use, ok := number(root, path.Join(folder, h.use))
	if !ok {
		return 0, false
	}
	stat, err := fs.ReadFile(root, path.Join(folder, "memory.stat"))
	if err != nil {
		return max(limit-use, 0), true
	}
	var dropped int64
	for line := range strings.Lines(string(stat)) {
		if name, value, _ := strings.Cut(strings.TrimSpace(line), " "); name == h.dropped {
			dropped, _ = strconv.ParseInt(value, 10, 64) // 0 if it is no number
		}
	}
	return max(limit-use+dropped, 0), true
}

// number reads a file that holds a number.
func number(root fs.FS, file string) (int64, bool) {
	text, err := fs.ReadFile(root, file)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n, err == nil
}
