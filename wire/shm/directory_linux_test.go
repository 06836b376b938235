package shm

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// temporary is a short folder, as a socket has to lie there.
func temporary(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sy")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func opened(t *testing.T, d Directory, secrets ...uint64) *server {
	t.Helper()
	l, err := d.Open(1<<16, 1<<16)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	l.Expect(secrets)
	return l.(*server)
}

func memoryOf(t *testing.T, size int) *memory {
	t.Helper()
	m, err := newMemory(size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// Nobody but its owner can change a memory, cut it short, make it longer, or let others do so.
func TestMemory_Sealed(t *testing.T) {
	m := memoryOf(t, 1<<16)
	fd := int(m.file.Fd())
	if _, err := unix.Pwrite(fd, []byte{1}, before); !errors.Is(err, unix.EPERM) {
		t.Errorf("write: %v", err)
	}
	for _, size := range []int64{0, 1 << 20} {
		if err := unix.Ftruncate(fd, size); !errors.Is(err, unix.EPERM) {
			t.Errorf("truncate to %d: %v", size, err)
		}
	}
	if err := unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, before); !errors.Is(err, unix.EPERM) {
		t.Errorf("punch a hole: %v", err)
	}
	if _, err := unix.Mmap(fd, 0, before, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); !errors.Is(err, unix.EPERM) {
		t.Errorf("map for writing: %v", err)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_WRITE); !errors.Is(err, unix.EPERM) {
		t.Errorf("seal: %v", err)
	}
	again, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", fd), os.O_RDWR, 0)
	if err == nil { // as another process of this user could
		defer again.Close()
		if _, err := again.WriteAt([]byte{1}, before); !errors.Is(err, unix.EPERM) {
			t.Errorf("write after opening it again: %v", err)
		}
	}
}

// Where files are limited (ulimit -f) more is an error, and not the end of the process.
func TestMemory_LimitOfFiles(t *testing.T) {
	var usual unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &usual); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 1 << 20, Max: usual.Max}); err != nil {
		t.Fatal(err)
	}
	defer unix.Setrlimit(unix.RLIMIT_FSIZE, &usual)
	if m, err := newMemory(1 << 20); !errors.Is(err, ErrRoom) || m != nil {
		t.Errorf("beyond the limit: %v", err)
	}
	m, err := newMemory(1<<20 - before)
	if err != nil {
		t.Fatal(err)
	}
	m.Close()
}

// What is no sealed memory is not adopted: reading it could take for ever, or find what somebody else wrote.
func TestAdopt_Refuses(t *testing.T) {
	dir := temporary(t)
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, make([]byte, 2*before), 0o600); err != nil {
		t.Fatal(err)
	}
	unsealed, err := unix.MemfdCreate("unsealed", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unix.Write(unsealed, make([]byte, 2*before)); err != nil {
		t.Fatal(err)
	}
	others, err := unix.MemfdCreate("others can write", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unix.Write(others, make([]byte, 2*before)); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.FcntlInt(uintptr(others), unix.F_ADD_SEALS, seals&^unix.F_SEAL_FUTURE_WRITE); err != nil {
		t.Fatal(err)
	}
	short, err := unix.MemfdCreate("short", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unix.FcntlInt(uintptr(short), unix.F_ADD_SEALS, seals); err != nil {
		t.Fatal(err)
	}
	descriptors := map[string]int{"unsealed memory": unsealed, "memory that others write": others, "memory without a token": short}
	for _, path := range []string{fifo, file, "/dev/zero", "/proc/self/mem", dir} {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		descriptors[path] = fd
	}
	for what, fd := range descriptors {
		if m, err := adopt(fd, 1<<20); err == nil || m != nil {
			t.Errorf("%s: adopted", what)
		}
		if err := unix.Close(fd); !errors.Is(err, unix.EBADF) {
			t.Errorf("%s: not closed: %v", what, err)
		}
	}
}

// What was never written is not touched, but is an error: a page would have to be found for it. What was written is read,
// also when it is asked for in another order.
func TestTheirs_Holes(t *testing.T) {
	m := memoryOf(t, 1<<20)
	fd, err := unix.Dup(int(m.file.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	other, err := adopt(fd, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	const page = 4096
	for _, at := range []int64{0, 10 * page} {
		if _, err := m.WriteAt(bytes.Repeat([]byte{7}, 2*page), at); err != nil {
			t.Fatal(err)
		}
	}
	got := make([]byte, page)
	for _, at := range []int64{11 * page, 0, page, 10 * page, page, 10*page + 5} {
		if _, err := other.ReadAt(got, at); err != nil || got[0] != 7 {
			t.Errorf("at %d: %v, %v", at, got[0], err)
		}
	}
	for _, at := range []int64{2 * page, page + 1, 9 * page, 9*page + 1, 11*page + 1, 100 * page} {
		if _, err := other.ReadAt(got, at); !errors.Is(err, errHole) {
			t.Errorf("at %d, where nothing was written: %v", at, err)
		}
	}
}

// More memory than is wanted is not mapped, nor are huge pages, of which there may be none when they are touched.
func TestAdopt_Size(t *testing.T) {
	m := memoryOf(t, 1<<16)
	for most, want := range map[int]bool{1<<16 - 1: false, 1 << 16: true} {
		fd, err := unix.Dup(int(m.file.Fd()))
		if err != nil {
			t.Fatal(err)
		}
		other, err := adopt(fd, most)
		if (err == nil) != want {
			t.Errorf("%d bytes at most: %v", most, err)
		}
		if other != nil {
			other.Close()
		}
	}
	huge, err := unix.MemfdCreate("huge", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_HUGETLB)
	if err != nil {
		t.Logf("no huge pages here: %v", err)
		return
	}
	if err := unix.Ftruncate(huge, 2<<20); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.FcntlInt(uintptr(huge), unix.F_ADD_SEALS, seals); err != nil {
		t.Logf("huge pages cannot be sealed here: %v", err)
	}
	if other, err := adopt(huge, 1<<30); err == nil || other != nil {
		t.Error("huge pages were adopted")
	}
}

// stranger says something at a place, is answered nothing, and is hung up on.
func stranger(t *testing.T, d Directory, l *server, say func(conn *net.UnixConn)) {
	t.Helper()
	path, err := d.socket(l.place)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.DialUnix(network, nil, &net.UnixAddr{Name: path, Net: network})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	say(conn)
	conn.SetReadDeadline(time.Now().Add(2 * time.Minute))
	answer := make([]byte, 100)
	if n, _, _, _, err := conn.ReadMsgUnix(answer, make([]byte, 100)); n > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%d bytes and %v were answered", n, err)
	}
}

// Whatever a stranger says, with or without descriptors, he is answered nothing and is no client; who is expected comes in
// all the while.
func TestServer_Strangers(t *testing.T) {
	const secret = 7
	d := Directory(temporary(t))
	l := opened(t, d, secret)
	own := memoryOf(t, 100)
	sound := newHello(l.place, secret, own.identity)
	otherPlace, otherSecret, otherFile := newHello(newPlace(), secret, own.identity), newHello(l.place, secret+1, own.identity), newHello(l.place, secret, memoryOf(t, 100).identity)
	otherSecret.mark = sound.mark
	asOwner := sound
	asOwner.proof = prove(ownerSide, l.place, secret, sound.nonce, own.identity)
	rights := func(n int) []byte {
		var fds []int
		for range n {
			fds = append(fds, int(own.file.Fd()))
		}
		return unix.UnixRights(fds...)
	}
	files := descriptors(t)
	for what, message := range map[string]struct{ data, rights []byte }{
		"nothing known":             {[]byte("GET / HTTP/1.1\r\n\r\n"), nil},
		"no descriptor":             {sound.encode(), nil},
		"two descriptors":           {sound.encode(), rights(2)},
		"a hundred descriptors":     {sound.encode(), rights(100)},
		"too long":                  {append(sound.encode(), 0), rights(1)},
		"too short":                 {sound.encode()[1:], rights(1)},
		"another place":             {otherPlace.encode(), rights(1)},
		"another secret":            {otherSecret.encode(), rights(1)},
		"the proof of another file": {otherFile.encode(), rights(1)},
		"the proof of the owner":    {asOwner.encode(), rights(1)},
		"a file on disk":            {sound.encode(), unix.UnixRights(int(onDisk(t).Fd()))},
	} {
		stranger(t, d, l, func(conn *net.UnixConn) {
			if _, _, err := conn.WriteMsgUnix(message.data, message.rights, nil); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		})
		if l.Client(secret) != nil {
			t.Fatalf("%s: let in", what)
		}
	}
	stranger(t, d, l, func(*net.UnixConn) {}) // says nothing
	if n := descriptors(t); n > files+2 {
		t.Errorf("%d files are open, %d were: descriptors of strangers stay", n, files)
	}
	link, err := d.Join(t.Context(), l.place, secret, 100)
	if err != nil {
		t.Fatal(err)
	}
	defer link.Close()
	if l.Client(secret) == nil {
		t.Error("who is expected is no client")
	}
}

func onDisk(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// descriptors is how many files this process has open.
func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// Who sets up a place under the name of another one, and passes on what both sides say, cannot put his memory in the place
// of either's.
func TestJoin_BetweenTheTwo(t *testing.T) {
	const secret = 7
	for _, forge := range []string{"neither", "client", "owner"} {
		t.Run(forge, func(t *testing.T) {
			inside := Directory(temporary(t))
			l := opened(t, inside, secret)
			outside := Directory(temporary(t))
			path, err := outside.socket(l.place)
			if err != nil {
				t.Fatal(err)
			}
			false1, false2 := memoryOf(t, 100), memoryOf(t, 100)
			listener, err := net.ListenUnix(network, &net.UnixAddr{Name: path, Net: network})
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan struct{})
			defer func() {
				listener.Close()
				<-done
			}()
			go func() {
				defer close(done)
				pass(listener, inside, l.place, false1, false2, forge)
			}()
			link, err := outside.Join(t.Context(), l.place, secret, 100)
			if (err == nil) != (forge == "neither") {
				t.Errorf("joined: %v", err)
			}
			if err == nil {
				link.Close()
			}
			if forge == "client" && l.Client(secret) != nil {
				t.Error("the forged memory is a client's")
			}
		})
	}
}

// pass passes on what a client and the owner of a place say, with other memory in the place of one's.
func pass(listener *net.UnixListener, to Directory, place string, client, owner *memory, forge string) {
	in, err := listener.AcceptUnix()
	if err != nil {
		return
	}
	defer in.Close()
	path, _ := to.socket(place)
	out, err := net.DialUnix(network, nil, &net.UnixAddr{Name: path, Net: network})
	if err != nil {
		return
	}
	defer out.Close()
	swap := func(from, to *net.UnixConn, length int, other *memory, forged bool) bool {
		data, theirs, err := receive(from, length, 1<<20)
		if err != nil {
			return false
		}
		defer theirs.Close()
		if !forged {
			other = &memory{file: theirs.file}
		} else {
			copy(other.mapped, theirs.token[:]) // what he can read he can copy
		}
		return send(to, data, other) == nil
	}
	if swap(in, out, helloLength, client, forge == "client") {
		swap(out, in, helloLength-8-nonceLength, owner, forge == "owner")
	}
}

// Only a folder of this user's own that nobody else may write will do.
func TestDirectory_Folder(t *testing.T) {
	top := temporary(t)
	linked := filepath.Join(top, "linked")
	if err := os.Symlink(temporary(t), linked); err != nil {
		t.Fatal(err)
	}
	writable := filepath.Join(top, "writable")
	if err := os.Mkdir(writable, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(writable, 0o777); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(top, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{linked, writable, file, filepath.Join(top, "none", "below"), filepath.Join(top, strings.Repeat("long", 30)), "/proc"} {
		l, err := Directory(path).Open(100, 100)
		if !errors.Is(err, ErrFolder) {
			t.Errorf("%s: %v", path, err)
		}
		if l != nil {
			l.Close()
		}
	}
	made := Directory(filepath.Join(top, "made"))
	opened(t, made)
	if info, err := os.Stat(string(made)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// Sockets of processes that were killed are removed; those of living ones, young ones and other files are not.
func TestDirectory_Sweeps(t *testing.T) {
	dir := temporary(t)
	d := Directory(dir)
	living := opened(t, d)
	bound := func(name string) string { // as a killed process leaves it
		path := filepath.Join(dir, name)
		l, err := net.ListenUnix(network, &net.UnixAddr{Name: path, Net: network})
		if err != nil {
			t.Fatal(err)
		}
		l.SetUnlinkOnClose(false)
		l.Close()
		return path
	}
	stale, young, foreign := bound(newPlace()+suffix), bound(newPlace()+suffix), bound("other"+suffix)
	file := filepath.Join(dir, newPlace()+suffix)
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	livingPath, _ := d.socket(living.place)
	old := time.Now().Add(-2 * staleAfter)
	for _, path := range []string{stale, foreign, file, livingPath} {
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	opened(t, d)
	if _, err := os.Lstat(stale); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the stale socket: %v", err)
	}
	for _, path := range []string{young, foreign, file, livingPath} {
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("removed: %v", err)
		}
	}
}

// A client that is gone is still read as he was: nothing waits for him, and nothing fails.
func TestServer_ClientThatIsGone(t *testing.T) {
	d := Directory(temporary(t))
	l := opened(t, d, 7)
	link, err := d.Join(t.Context(), l.place, 7, 100)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := link.WriteAt([]byte{9}, 5); err != nil {
		t.Error(err)
	}
	if err := link.Close(); err != nil {
		t.Error(err)
	}
	got := make([]byte, 1)
	if _, err := l.Client(7).ReadAt(got, 5); err != nil || got[0] != 9 {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := link.WriteAt([]byte{9}, 5); !errors.Is(err, ErrRoom) {
		t.Errorf("write after the end: %v", err)
	}
	if _, err := link.ReadAt(got, 5); err == nil {
		t.Error("read after the end")
	}
}

// A proof is of all that it names: with any other part it is another one.
func TestProve_EachPart(t *testing.T) {
	const place, other = "0123456789abcdef", "0123456789abcdee"
	id := identity{1, 2, [tokenLength]byte{3}}
	sound := prove(clientSide, place, 7, [nonceLength]byte{4}, id)
	for what, proof := range map[string][32]byte{
		"side":   prove(ownerSide, place, 7, [nonceLength]byte{4}, id),
		"place":  prove(clientSide, other, 7, [nonceLength]byte{4}, id),
		"secret": prove(clientSide, place, 8, [nonceLength]byte{4}, id),
		"nonce":  prove(clientSide, place, 7, [nonceLength]byte{5}, id),
		"device": prove(clientSide, place, 7, [nonceLength]byte{4}, identity{2, 2, id.token}),
		"inode":  prove(clientSide, place, 7, [nonceLength]byte{4}, identity{1, 1, id.token}),
		"token":  prove(clientSide, place, 7, [nonceLength]byte{4}, identity{1, 2, [tokenLength]byte{2}}),
	} {
		if proof == sound {
			t.Errorf("with another %s it is the same", what)
		}
	}
	if err := proven(sound[:], clientSide, place, 7, [nonceLength]byte{4}, id); err != nil {
		t.Error(err)
	}
}

func FuzzDecodeHello(f *testing.F) {
	sound := newHello(newPlace(), 7, identity{1, 2, [tokenLength]byte{3}})
	f.Add(sound.encode())
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := decodeHello(data)
		if (err == nil) != (len(data) == helloLength) {
			t.Errorf("%d bytes: %v", len(data), err)
		}
		if err == nil && string(h.encode()) != string(data) {
			t.Errorf("got %x, want %x", h.encode(), data)
		}
		if err == nil && proven(h.proof[:], clientSide, "0123456789abcdef", 7, h.nonce, identity{}) == nil {
			t.Errorf("%x proves something", data)
		}
	})
}
