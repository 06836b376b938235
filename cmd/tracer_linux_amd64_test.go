//go:build linux && amd64

package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// killer runs a command of this program and kills it as it enters one of its system calls that change a file or folder.
type killer struct {
	t   *testing.T
	dir string // whose changes count
	at  int    // the call at which it is killed, from 1; 0: it is not killed

	changes int          // so far
	inside  map[int]bool // threads within a system call
	what    string       // the call at which it was killed
	pid     int
}

// Options of ptrace, and flags of wait4, that package syscall does not have.
const (
	goodCalls  = 0x1        // PTRACE_O_TRACESYSGOOD
	dieWithMe  = 0x100000   // PTRACE_O_EXITKILL
	anyThread  = 0x40000000 // __WALL
	mineAlone  = 0x20000000 // __WNOTHREAD
	systemCall = syscall.SIGTRAP | 0x80
)

// run runs the command to its end, and returns its exit code; below 0: it was killed.
func (k *killer) run(arguments ...string) int {
	k.t.Helper()
	runtime.LockOSThread() // the tracer is a thread
	defer runtime.UnlockOSThread()
	cmd := asProcess(k.t, arguments...)
	cmd.Dir = k.dir
	cmd.Env = append(cmd.Env, "GOMAXPROCS=2")
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		k.t.Skipf("no process can be traced here: %v", err)
	}
	k.pid, k.inside = cmd.Process.Pid, map[int]bool{}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(k.pid, &status, anyThread, nil); err != nil {
		k.t.Fatal(err)
	}
	if err := syscall.PtraceSetOptions(k.pid, goodCalls|dieWithMe|syscall.PTRACE_O_TRACECLONE); err != nil {
		k.t.Fatal(err)
	}
	next, signal := k.pid, 0
	for {
		if err := syscall.PtraceSyscall(next, signal); err != nil && err != syscall.ESRCH {
			k.t.Fatal(err)
		}
		thread, err := syscall.Wait4(-1, &status, anyThread|mineAlone, nil)
		for err == nil && (status.Exited() || status.Signaled()) {
			if thread == k.pid {
				if status.Signaled() {
					return -1
				}
				return status.ExitStatus()
			}
			thread, err = syscall.Wait4(-1, &status, anyThread|mineAlone, nil)
		}
		if err == syscall.EINTR {
			next, signal = 0, 0
			continue
		}
		if err != nil {
			k.t.Fatal(err)
		}
		next, signal = thread, k.stopped(thread, status)
	}
}

// stopped looks at a thread that has stopped, and returns the signal that it is to get.
func (k *killer) stopped(thread int, status syscall.WaitStatus) int {
	switch s := status.StopSignal(); {
	case s == systemCall:
		if k.inside[thread] = !k.inside[thread]; k.inside[thread] {
			k.enter(thread)
		}
	case s == syscall.SIGTRAP, s == syscall.SIGSTOP: // a new thread, or the thread that began one
	default:
		return int(s)
	}
	return 0
}

// enter counts a call that changes something, and kills the process if it is the one.
func (k *killer) enter(thread int) {
	var r syscall.PtraceRegs
	if k.what != "" || syscall.PtraceGetRegs(thread, &r) != nil {
		return
	}
	what := k.change(r)
	if what == "" {
		return
	}
	if k.changes++; k.changes == k.at {
		k.what = what
		if err := syscall.Kill(k.pid, syscall.SIGKILL); err != nil {
			k.t.Fatal(err)
		}
	}
}

// change says what a call changes in the folder; empty: nothing.
func (k *killer) change(r syscall.PtraceRegs) string {
	const making = syscall.O_CREAT | syscall.O_TRUNC
	switch r.Orig_rax {
	case syscall.SYS_OPENAT:
		if r.Rdx&making == 0 {
			return ""
		}
		return k.within("open", k.text(r.Rsi))
	case syscall.SYS_MKDIRAT, syscall.SYS_UNLINKAT, syscall.SYS_RENAMEAT, syscall.SYS_SYMLINKAT:
		return k.within(fmt.Sprint("call ", r.Orig_rax, " of"), k.text(r.Rsi))
	case syscall.SYS_UNLINK, syscall.SYS_RMDIR, syscall.SYS_RENAME, syscall.SYS_MKDIR:
		return k.within(fmt.Sprint("call ", r.Orig_rax, " of"), k.text(r.Rdi))
	case syscall.SYS_WRITE, syscall.SYS_PWRITE64, syscall.SYS_FTRUNCATE, syscall.SYS_FSYNC:
		path, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", k.pid, r.Rdi))
		if err != nil {
			return ""
		}
		return k.within(fmt.Sprint("call ", r.Orig_rax, " on"), path)
	case copyFileRange:
		return "copy"
	}
	return ""
}

// copyFileRange is the system call of that name.
const copyFileRange = 326

// within is a change of a path, if that is in the folder.
func (k *killer) within(what, path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(k.dir, path)
	}
	if path != k.dir && !strings.HasPrefix(path, k.dir+"/") {
		return ""
	}
	return what + " " + strings.TrimPrefix(path, k.dir+"/")
}

// text reads a path out of the memory of the process.
func (k *killer) text(address uint64) string {
	f, err := os.Open(fmt.Sprintf("/proc/%d/mem", k.pid))
	if err != nil {
		return ""
	}
	defer f.Close()
	var room [4096]byte
	n, _ := f.ReadAt(room[:], int64(address)) // less before the end of the memory
	text, _, _ := strings.Cut(string(room[:n]), "\x00")
	return text
}
