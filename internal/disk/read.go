package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Errors of files that are read.
var (
	// ErrIrregular is returned for a path at which there is no regular file but a link, a pipe, a device or a folder.
	ErrIrregular = errors.New("not a regular file")
	// ErrTooLarge is returned for a file that has more bytes than its kind ever has.
	ErrTooLarge = errors.New("the file is too large")
)

// Open opens a regular file to read it. What lies in the folder of a run may have been put there by anybody: a link
// is not followed, and a pipe or a device, which would make the process wait or read for ever, is ErrIrregular. The
// caller closes the file.
func Open(path string) (*os.File, fs.FileInfo, error) { return open(path, os.O_RDONLY) }

// OpenLock is Open for a file on which a lock is to be taken: some file systems want it open for writing, too.
func OpenLock(path string) (*os.File, error) {
	f, _, err := open(path, os.O_RDWR)
	return f, err
}

// open opens a file and looks at what it has opened rather than at the path, which may change in between.
func open(path string, flag int) (*os.File, fs.FileInfo, error) {
	// Without waiting and without following a link; see open_unix.go.
	f, err := os.OpenFile(path, flag|patient|direct, 0)
	switch {
	case errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.ENXIO), errors.Is(err, syscall.EISDIR):
		return nil, nil, fmt.Errorf("%s: %w", path, ErrIrregular) // a link; a socket; a folder
	case err != nil:
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: %w", path, ErrIrregular)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// ReadFile reads a regular file of at most limit bytes. It allocates no more than the file holds. A larger one is
// ErrTooLarge, whether it is so at once or grows while it is read; that error is an *fs.PathError.
func ReadFile(path string, limit int64) ([]byte, error) {
	f, info, err := Open(path)
	if err != nil {
		return nil, err
	}
	data, err := readAtMost(f, info.Size(), limit)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, &fs.PathError{Op: "read", Path: path, Err: err}
	}
	return data, nil
}

// Head reads the first bytes of a regular file: as many as there are, and at most n.
func Head(path string, n int) ([]byte, error) {
	f, _, err := Open(path)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, int64(n)))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return data, nil
}

// Copy replaces the file to by the content of the regular file from, as Replace does.
func Copy(d Disk, from, to string) error {
	f, _, err := Open(from)
	if err != nil {
		return err
	}
	err = Replace(d, to, func(w io.Writer) error {
		_, err := io.Copy(w, f)
		return err
	})
	return errors.Join(err, f.Close())
}

// readAtMost reads r, which has about size bytes, to its end, and returns ErrTooLarge for more than limit.
func readAtMost(r io.Reader, size, limit int64) ([]byte, error) {
	if size > limit {
		return nil, fmt.Errorf("%w: %d bytes, at most %d are read", ErrTooLarge, size, limit)
	}
	data := make([]byte, 0, size+1) // one more, so that the end is seen without growing
	for {
		n, err := r.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case int64(len(data)) > limit:
			return nil, fmt.Errorf("%w: more than %d bytes are read", ErrTooLarge, limit)
		case err == io.EOF:
			return data, nil
		case err != nil:
			return nil, err
		// The file has grown since its size was taken.
		case len(data) == cap(data):
			data = append(data, 0)[:len(data)]
		}
	}
}
