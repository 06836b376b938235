package shm

import (
	"crypto/rand"
	"errors"
	"fmt"
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

	mu     sync.RWMutex
	mapped []byte // nil: closed

	growing  sync.Mutex
	reserved int64
}

// newMemory makes a memory of that many bytes.
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

func (m *memory) prepare(fd, size int) (err error) {
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

// WriteAt implements io.WriterAt.
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

// reserve makes sure that there are pages up to an end.
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

// theirs is the memory of another process.
type theirs struct {
	file *os.File
	identity
}

// adopt takes over a descriptor of another process. It is closed if it is not that of such a memory: reading from
// something else might take for ever.
func adopt(fd int) (*theirs, error) {
	m := &theirs{file: os.NewFile(uintptr(fd), "shared memory of another")}
	err := m.look(fd)
	if err != nil {
		return nil, errors.Join(err, m.file.Close())
	}
	return m, nil
}

func (m *theirs) look(fd int) (err error) {
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
	if _, err := m.file.ReadAt(m.token[:], 0); err != nil {
		return fmt.Errorf("%w: read its token: %w", ErrProof, err)
	}
	return nil
}

// ReadAt implements io.ReaderAt.
func (m *theirs) ReadAt(p []byte, at int64) (int, error) {
	if at < 0 {
		return 0, fmt.Errorf("read shared memory at %d: %w", at, os.ErrInvalid)
	}
	return m.file.ReadAt(p, before+at)
}

// Close implements io.Closer.
func (m *theirs) Close() error { return m.file.Close() }

// fileOf says which file a descriptor is of.
func fileOf(fd int) (device, inode uint64, err error) {
	var s unix.Stat_t
	if err := unix.Fstat(fd, &s); err != nil {
		return 0, 0, fmt.Errorf("shared memory: %w", err)
	}
	if s.Mode&unix.S_IFMT != unix.S_IFREG {
		return 0, 0, fmt.Errorf("%w: no file", ErrProof)
	}
	return uint64(s.Dev), s.Ino, nil
}
