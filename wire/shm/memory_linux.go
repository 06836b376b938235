package shm

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

const (
	// before is what lies before the bytes of a memory: the token, in a page of its own.
	before = 4096
	// seals are those of every memory here: its size stays, and only the owner's mapping writes it.
	seals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_FUTURE_WRITE
	// reserving is how many bytes are reserved at a time: a signal ends the system call, which is begun anew then.
	reserving = 4 << 20
	// noExec (MFD_NOEXEC_SEAL) is demanded by some systems, and not known to old ones.
	noExec = 0x8
)

// memory is what this process writes and others read. Its pages are reserved before they are first written: where there
// is no memory left that is an error, and not the end of the process.
type memory struct {
	file *os.File
	identity

	mu     sync.RWMutex // held for reading by writers, so that Close waits for them
	mapped []byte       // nil: closed

	growing  sync.Mutex
	reserved int64 // bytes from the beginning on for which there are pages
}

// newMemory makes a memory of that many bytes. Pages are taken as they are written, but for the first.
func newMemory(size int) (*memory, error) {
	fd, err := unix.MemfdCreate("switchyard", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|noExec)
	if errors.Is(err, unix.EINVAL) {
		fd, err = unix.MemfdCreate("switchyard", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: memfd_create: %w", ErrUnsupported, err)
	}
	m := &memory{file: os.NewFile(uintptr(fd), "shared memory")}
	if err := m.prepare(fd, size); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// prepare gives a memory its size, its mapping and its seals, in this order: after the seals, the size cannot change
// and no further mapping can write. Then it draws the token and writes it before all else.
func (m *memory) prepare(fd, size int) (err error) {
	var most unix.Rlimit // of files, beyond which a signal ends the process
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &most); err != nil || size < 0 || uint64(before+size) > most.Cur {
		return fmt.Errorf("%w: %d bytes are more than a file of this process may have", ErrRoom, size)
	}
	if err := unix.Ftruncate(fd, int64(before+size)); err != nil {
		return fmt.Errorf("size of shared memory: %w", err)
	}
	if m.mapped, err = unix.Mmap(fd, 0, before+size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return fmt.Errorf("map shared memory: %w", err)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
		return fmt.Errorf("%w: seal it: %w", ErrUnsupported, err)
	}
	if err := m.reserve(before); err != nil {
		return err
	}
	rand.Read(m.token[:])
	copy(m.mapped, m.token[:])
	m.device, m.inode, err = fileOf(fd)
	return err
}

// WriteAt implements io.WriterAt. It returns ErrRoom, and writes nothing, for what does not fit. Several goroutines
// may write at a time, to different places.
func (m *memory) WriteAt(p []byte, at int64) (int, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if at < 0 || at > int64(len(m.mapped)-before-len(p)) {
		return 0, fmt.Errorf("%w: %d bytes at %d", ErrRoom, len(p), at)
	}
	if err := m.reserve(before + at + int64(len(p))); err != nil {
		return 0, err
	}
	return copy(m.mapped[before+at:], p), nil
}

// reserve makes sure that there are pages up to an end. It returns ErrRoom if the system has none left: a write to a
// page that cannot be had would end the process.
func (m *memory) reserve(end int64) error {
	m.growing.Lock()
	defer m.growing.Unlock()
	for m.reserved < end {
		n := min(end-m.reserved, reserving)
		err := unix.Fallocate(int(m.file.Fd()), 0, m.reserved, n)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return fmt.Errorf("%w: %w", ErrRoom, err)
		}
		m.reserved += n
	}
	return nil
}

// Close gives the memory back. Others that have it open can still read it.
func (m *memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	err := m.file.Close()
	if m.mapped != nil {
		err = errors.Join(err, unix.Munmap(m.mapped))
		m.mapped = nil
	}
	return err
}

// theirs is the memory of another process. It is mapped for reading, which is several times as fast as to read a file.
// Such an access could end this process if there were no page for it: if the file were cut short, or had a hole where
// no memory is left. So only what is sealed is adopted, and only what has pages is touched; seals and pages stay.
type theirs struct {
	file *os.File
	identity

	mu     sync.RWMutex // held for reading by readers, so that Close waits for them
	mapped []byte       // nil: closed

	asking sync.Mutex // guards known
	known  [2]int64   // bytes from and to which all pages are there
}

// adopt takes over a descriptor of another process, whose memory has that many bytes at most. It is closed if it is not
// that of such a memory.
func adopt(fd, most int) (*theirs, error) {
	m := &theirs{file: os.NewFile(uintptr(fd), "shared memory of another")}
	if err := m.look(fd, most); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// look checks what the other process has handed over, and maps it. The seals are looked at first: from then on
// neither the size nor the kind of file can change under the hands of the checks.
func (m *theirs) look(fd, most int) (err error) {
	got, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err != nil {
		return fmt.Errorf("%w: no memory: %w", ErrProof, err)
	}
	if got&seals != seals {
		return fmt.Errorf("%w: memory that is not sealed (%#x)", ErrProof, got)
	}
	if m.device, m.inode, err = fileOf(fd); err != nil {
		return err
	}
	size, err := m.file.Seek(0, io.SeekEnd)
	if err != nil || size < before || size-before > int64(most) {
		return fmt.Errorf("%w: memory of %d bytes, at most %d are wanted", ErrProof, size-before, most)
	}
	if m.mapped, err = unix.Mmap(fd, 0, int(size), unix.PROT_READ, unix.MAP_SHARED); err != nil {
		return fmt.Errorf("map shared memory: %w", err)
	}
	return m.read(m.token[:], 0)
}

// ReadAt implements io.ReaderAt. The other process may write meanwhile, so p can hold a mixture: who reads compares a
// checksum of p with what was said. After Close it fails.
func (m *theirs) ReadAt(p []byte, at int64) (int, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if at < 0 || at > int64(len(m.mapped)-before-len(p)) {
		return 0, fmt.Errorf("read %d bytes of shared memory at %d: %w", len(p), at, io.ErrUnexpectedEOF)
	}
	if err := m.read(p, before+at); err != nil {
		return 0, err
	}
	return len(p), nil
}

// read copies what begins at a place within the mapping, if there are pages.
func (m *theirs) read(p []byte, at int64) error {
	if !m.written(at, at+int64(len(p))) {
		return fmt.Errorf("read %d bytes of shared memory at %d: %w", len(p), at, errHole)
	}
	copy(p, m.mapped[at:])
	return nil
}

// written reports whether there are pages for the bytes [from, to). To ask takes a while, so what is known is
// remembered: a page that is there stays. Of several such ranges the last is remembered.
func (m *theirs) written(from, to int64) bool {
	m.asking.Lock()
	defer m.asking.Unlock()
	if m.known[0] <= from && to <= m.known[1] {
		return true
	}
	hole, err := unix.Seek(int(m.file.Fd()), from, unix.SEEK_HOLE)
	if err != nil || hole < to {
		return false
	}
	m.known = [2]int64{from, hole}
	return true
}

// errHole is returned for a part of a memory that was never written.
var errHole = errors.New("shm: nothing was written there")

// Close gives back what is there of the memory.
func (m *theirs) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	err := m.file.Close()
	if m.mapped != nil {
		err = errors.Join(err, unix.Munmap(m.mapped))
		m.mapped = nil
	}
	return err
}

// fileOf says which file a descriptor is of. It returns ErrProof for what is no file in ordinary memory.
func fileOf(fd int) (device, inode uint64, err error) {
	var s unix.Stat_t
	if err := unix.Fstat(fd, &s); err != nil {
		return 0, 0, fmt.Errorf("shared memory: %w", err)
	}
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err != nil || fs.Type != unix.TMPFS_MAGIC || s.Mode&unix.S_IFMT != unix.S_IFREG {
		return 0, 0, fmt.Errorf("%w: no ordinary memory", ErrProof) // huge pages may be missing even where there is no hole
	}
	return uint64(s.Dev), s.Ino, nil
}
