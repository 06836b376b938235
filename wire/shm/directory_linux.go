package shm

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	// suffix is how the names of sockets end.
	suffix = ".place"
	// maxPath is the longest path of a socket, in bytes: Linux has room for 108, the last of which is 0.
	maxPath = 107
	// staleAfter is how old a socket has to be to be removed when nobody answers: one that is just made does not yet.
	staleAfter = time.Minute
	// network is that of sockets which keep messages apart.
	network = "unixpacket"
)

// socket is the path of a place. Only a name that newPlace can have made becomes a path, so a message of another
// process cannot lead out of the folder.
func (d Directory) socket(place string) (string, error) {
	if err := checkPlace(place); err != nil {
		return "", err
	}
	path := filepath.Join(string(d), place+suffix)
	if len(path) > maxPath {
		return "", fmt.Errorf("%w: the path %s is longer than the %d bytes that a socket can have", ErrFolder, path, maxPath)
	}
	return path, nil
}

// check returns an error if somebody else could write the folder. It does not follow a link at the end of the path.
// Who could write the folder could put a socket of his own in the place of one: that proves nothing, see proof.go,
// but keeps the two apart.
func (d Directory) check() error {
	info, err := os.Lstat(string(d))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFolder, err)
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir():
		return fmt.Errorf("%w: %s is none", ErrFolder, string(d))
	case !ok || int(s.Uid) != os.Geteuid():
		return fmt.Errorf("%w: %s belongs to another user", ErrFolder, string(d))
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("%w: %s may be written by others (mode %#o)", ErrFolder, string(d), info.Mode().Perm())
	}
	return nil
}

// make makes the folder if it is missing, and removes the sockets of processes that were killed. Other files in the
// folder stay.
func (d Directory) make() error {
	if err := os.Mkdir(string(d), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: %w", ErrFolder, err)
	}
	if err := d.check(); err != nil {
		return err
	}
	entries, err := os.ReadDir(string(d))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFolder, err)
	}
	for _, e := range entries {
		place, ours := strings.CutSuffix(e.Name(), suffix)
		if ours && checkPlace(place) == nil && e.Type() == fs.ModeSocket {
			d.sweep(e)
		}
	}
	return nil
}

// sweep removes a socket at which nobody listens. A listening process that is merely slow keeps its socket: only a
// refused connection shows that nobody is there.
func (d Directory) sweep(e fs.DirEntry) {
	info, err := e.Info()
	if err != nil || time.Since(info.ModTime()) < staleAfter {
		return
	}
	path := filepath.Join(string(d), e.Name())
	conn, err := net.DialTimeout(network, path, time.Second)
	if err == nil {
		_ = conn.Close() // somebody listens
		return
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		_ = os.Remove(path) // another process may do the same
	}
}
