package bench

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
)

func TestNumerics(t *testing.T) {
	if f := Numerics(); f.State != OK || !strings.Contains(f.Found, "kernels") {
		t.Errorf("got %+v", f)
	}
}

// TestProcessor: slower kernels than the machine has are told, with what to do.
func TestProcessor(t *testing.T) {
	defer func() {
		if err := kernel.Use(kernel.Best()); err != nil {
			t.Error(err)
		}
	}()
	if f := Processor(1); !strings.Contains(f.Found, "1 core, ") || !strings.Contains(f.Found, "GFLOP/s") {
		t.Errorf("got %+v", f)
	}
	if err := kernel.Use(kernel.Portable); err != nil {
		t.Fatal(err)
	}
	if f := Processor(1); f.State != Doubtful || f.Do == "" {
		t.Errorf("with portable kernels: %+v", f)
	}
}

// TestDisk: the file is removed, a folder that does not exist yet counts as the one above it, and one that cannot be
// written to is bad.
func TestDisk(t *testing.T) {
	dir := t.TempDir()
	if f := Disk(filepath.Join(dir, "not", "yet")); f.State == Bad || !strings.Contains(f.Found, dir+": fsync ") {
		t.Errorf("got %+v", f)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	taken := filepath.Join(dir, ".switchyard-doctor")
	if err := os.MkdirAll(filepath.Join(taken, "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	if f := Disk(dir); f.State != Bad || !strings.Contains(f.Do, "--runs-dir") {
		t.Errorf("where nothing can be written: %+v", f)
	}
}

// TestKernels: what is slower than it could be is told, and whose fault it is.
func TestKernels(t *testing.T) {
	for _, c := range []struct {
		active, best kernel.ISA
		state        State
		do           string
	}{
		{kernel.AVX2, kernel.AVX2, OK, ""},
		{kernel.AVX2, kernel.AVX512, Doubtful, "unset SWITCHYARD_ISA"},
		{kernel.Portable, kernel.AVX2, Doubtful, "unset SWITCHYARD_ISA"},
		{kernel.Portable, kernel.Portable, Doubtful, "another machine"},
	} {
		if state, do := kernels(c.active, c.best); state != c.state || !strings.Contains(do, c.do) || (do == "") != (c.do == "") {
			t.Errorf("%v beside %v: %s, %q", c.active, c.best, state, do)
		}
	}
}

// TestNumerics_OtherBits: the kernel that computes something else is named.
func TestNumerics_OtherBits(t *testing.T) {
	here := kernel.Golden()
	wrong := here[1]
	wrong.Sum++
	here[1] = wrong
	if f := compared(kernel.Golden(), here); f.State != Bad || !strings.HasSuffix(f.Found, ": "+wrong.Kernel) || f.Do == "" {
		t.Errorf("got %+v", f)
	}
}

// TestRoom: what stops training is told before what makes it slow.
func TestRoom(t *testing.T) {
	for _, c := range []struct {
		took, off time.Duration
		free      int64
		known     bool
		state     State
		do        string
	}{
		{time.Millisecond, 0, littleDisk, true, OK, ""},
		{time.Second, time.Hour, noDisk - 1, true, Bad, "make room"},
		{time.Second, 0, littleDisk - 1, true, Doubtful, "make room"},
		{time.Second, 0, 0, false, Doubtful, "train.checkpoint_every"},
		{slowSync, clockError, 0, false, OK, ""},
		{0, clockError + 1, littleDisk, true, Doubtful, "NTP"},
	} {
		if state, do := room(c.took, c.off, c.free, c.known); state != c.state || !strings.Contains(do, c.do) || (do == "") != (c.do == "") {
			t.Errorf("%+v: %s, %q", c, state, do)
		}
	}
}

// TestExisting: the nearest folder that there is; a file is none.
func TestExisting(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, obstacle := existing(filepath.Join(file, "x")); got != dir || obstacle != file {
		t.Errorf("got %s behind %s", got, obstacle)
	}
}

// TestDisk_NoFolder: where something else stands in the place of the folder of the runs, no run can be made.
func TestDisk_NoFolder(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	err := errors.Join(os.WriteFile(file, nil, 0o600), os.Symlink(filepath.Join(dir, "unmounted"), link))
	if err != nil {
		t.Fatal(err)
	}
	for _, runs := range []string{file, filepath.Join(file, "runs"), link, filepath.Join(link, "runs")} {
		if f := Disk(runs); f.State != Bad || !strings.Contains(f.Do, "--runs-dir") {
			t.Errorf("%s: %+v", runs, f)
		}
	}
	good := filepath.Join(dir, "good")
	if err := os.Symlink(t.TempDir(), good); err != nil {
		t.Fatal(err)
	}
	if f := Disk(filepath.Join(good, "runs")); f.State == Bad {
		t.Errorf("a link to a folder: %+v", f)
	}
}

func TestClock(t *testing.T) {
	if f := Clock(time.Unix(0, 0)); f.State != Bad {
		t.Errorf("1970: %+v", f)
	}
	if f := Clock(oldest.Add(-time.Second)); f.State != Bad {
		t.Errorf("before there was this program: %+v", f)
	}
	if f := Clock(oldest); f.State != OK {
		t.Errorf("got %+v", f)
	}
}

// TestPorts: a port that somebody listens on is told with the flag that takes another one.
func TestPorts(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if f := Ports(map[string]string{address: "--web"}); f.State != Doubtful || f.Found != "taken: "+address+" (--web)" {
		t.Errorf("got %+v", f)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if f := Ports(map[string]string{address: "--web"}); f.State != OK || f.Found != "free: "+address {
		t.Errorf("got %+v", f)
	}
}
