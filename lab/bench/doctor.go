package bench

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
	"github.com/switchyard-ml/switchyard/internal/disk"
	"github.com/switchyard-ml/switchyard/internal/terminal"
)

// State says how a check ended.
type State string

// The states of a check. What is Bad stops training or makes it wrong, what is Doubtful makes it slow or surprising.
const (
	OK       State = "ok"
	Doubtful State = "warn"
	Bad      State = "bad"
)

// Finding is the result of a check: what was looked at, how it stands, what was found, and what to do about it,
// if anything.
type Finding struct {
	Check string `json:"check"`
	State State  `json:"state"`
	Found string `json:"found"`
	Do    string `json:"do,omitempty"`
}

// Processor says what computes here, and how fast: the kernels in use and the FMA peak of so many cores. It takes
// a tenth of a second.
func Processor(cores int) Finding {
	var known []string
	for _, isa := range kernel.Available() {
		known = append(known, isa.String())
	}
	f := Finding{"processor", OK, fmt.Sprintf("%s, %s kernels (it has %s), FMA peak %s GFLOP/s",
		terminal.Count(cores, "core"),
		kernel.Active(), strings.Join(known, ", "), terminal.Digits(Peak(cores)/1e9)), ""}
	f.State, f.Do = kernels(kernel.Active(), kernel.Best())
	return f
}

// kernels judges the kernels that compute beside the best ones that the processor has.
func kernels(active, best kernel.ISA) (State, string) {
	switch {
	case best == kernel.Portable:
		return Doubtful, "training is many times slower without AVX2 and FMA, AVX-512 or NEON: take another machine, or a " +
			"build without -tags purego"
	case active != best:
		return Doubtful, fmt.Sprintf("unset SWITCHYARD_ISA: the %s kernels are faster, to the same bits", best)
	}
	return OK, ""
}

// Numerics compares what the kernels compute here with what they compute everywhere. Other bits are Bad: workers
// would disagree.
func Numerics() Finding { return compared(kernel.Golden(), kernel.Fingerprint()) }

// compared lists the kernels of which the lines differ.
func compared(golden, here []kernel.Line) Finding {
	var other []string
	for _, line := range here {
		if !slices.Contains(golden, line) {
			other = append(other, line.Kernel)
		}
	}
	if other == nil {
		return Finding{"numerics", OK, fmt.Sprintf("%s compute the bits that they compute everywhere",
			terminal.Count(len(golden), "kernel")), ""}
	}
	return Finding{
		"numerics", Bad, "other bits than everywhere else: " + strings.Join(other, ", "),
		"do not train here: memory, overclocking or an emulator is at fault; SWITCHYARD_ISA=portable may tell which",
	}
}

// Bounds below which there is little room on a disk, and as good as none.
const (
	littleDisk = 2 << 30
	noDisk     = 64 << 20
)

// slowSync is a time of a flush above which checkpoints hold training up.
const slowSync = 100 * time.Millisecond

// syncs is how many flushes are measured.
const syncs = 5

// Disk writes to the folder of the runs, or to the folder in which it would be made, and measures how long a
// flush takes. The file is removed again. The time that the disk gives it tells whether its clock agrees with
// that of the machine. What stands where a folder has to be, such as a link to a disk that is not mounted, is Bad.
func Disk(runsDir string) Finding {
	dir, obstacle := existing(runsDir)
	if obstacle != "" {
		return Finding{
			"disk", Bad, fmt.Sprintf("no run can be made in %s: %s is no folder, nor a link to one", runsDir, obstacle),
			"choose another folder with --runs-dir, or remove what is there; mount the disk that a link leads to",
		}
	}
	took, at, err := flush(dir)
	if err != nil {
		return Finding{
			"disk", Bad, fmt.Sprintf("cannot write to %s: %v", dir, err),
			"choose another folder with --runs-dir, or make this one writable",
		}
	}
	f := Finding{"disk", OK, fmt.Sprintf("%s: fsync %s ms", dir, terminal.Digits(took.Seconds()*1e3)), ""}
	free, known := freeDisk(dir)
	if known {
		f.Found += ", " + terminal.Bytes(free) + " free"
	}
	f.State, f.Do = room(took, time.Since(at).Abs(), free, known)
	return f
}

// room judges a disk by the time of a flush, how far its clock is off, and the room that is left, if it is known.
func room(took, off time.Duration, free int64, known bool) (State, string) {
	switch {
	case known && free < noDisk:
		return Bad, "make room: switchyard runs prune"
	case known && free < littleDisk:
		return Doubtful, "make room: switchyard runs prune"
	case took > slowSync:
		return Doubtful, "checkpoints wait for this disk: take a local one with --runs-dir, or raise train.checkpoint_every"
	case off > clockError:
		return Doubtful, fmt.Sprintf("its clock is %s off that of this machine: set both by NTP", terminal.Short(off))
	}
	return OK, ""
}

// clockError is how far the clocks of a machine and of its disk may be apart.
const clockError = 5 * time.Second

// existing is the folder itself, or the nearest one above it that there is. obstacle is the first thing below that
// which is no folder, and in whose place none can be made; empty: there is nothing.
func existing(dir string) (folder, obstacle string) {
	for {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir, obstacle
		}
		if _, err := os.Lstat(dir); err == nil {
			obstacle = dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			return dir, obstacle
		}
		dir = up
	}
}

// flush returns the median time of writing and flushing a small file, and when the disk says that it was written.
// The file has 64 KiB and is removed whatever happens.
func flush(dir string) (median time.Duration, at time.Time, err error) {
	path := filepath.Join(dir, ".switchyard-doctor")
	defer func() { err = errors.Join(err, disk.System().Remove(path)) }()
	var times []time.Duration
	for range syncs {
		began := time.Now()
		file, err := disk.System().Create(path)
		if err != nil {
			return 0, at, err
		}
		_, err = file.Write(make([]byte, 64<<10))
		if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
			return 0, at, err
		}
		times = append(times, time.Since(began))
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, at, err
	}
	slices.Sort(times)
	return times[len(times)/2], info.ModTime(), nil
}

// oldest is a time that is over: a clock before it is wrong.
var oldest = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Clock looks for a clock that cannot be right. Certificates, and the order of runs, hang on it.
func Clock(now time.Time) Finding {
	f := Finding{"clock", OK, now.Format(time.RFC3339), ""}
	if now.Before(oldest) {
		f.State, f.Do = Bad, "set the clock: certificates are not valid yet by this one"
	}
	return f
}

// Ports says which of the usual ports are free on this machine. addresses maps each to the flag that chooses
// another one. It listens at each for a moment.
func Ports(addresses map[string]string) Finding {
	f := Finding{"ports", OK, "", ""}
	var free, taken []string
	for address, flag := range addresses {
		l, err := net.Listen("tcp", address)
		if err != nil {
			taken = append(taken, address+" ("+flag+")")
			continue
		}
		_ = l.Close() // nobody has connected
		free = append(free, address)
	}
	slices.Sort(free)
	slices.Sort(taken)
	f.Found = "free: " + strings.Join(free, ", ")
	if taken != nil {
		f.State, f.Do = Doubtful, "if that is not Switchyard, choose another port with the flag"
		f.Found = strings.TrimSuffix(strings.TrimPrefix("taken: "+strings.Join(taken, ", ")+"; "+f.Found, "; "), "; free: ")
	}
	return f
}
