package array

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
)

// maxEntries is the largest number of arrays in an archive.
const maxEntries = 1 << 16

// Archive is an open .npz file. It reads each array when it is asked for. Its methods may be called concurrently.
type Archive struct {
	names   []string
	entries map[string]*zip.File
}

// OpenArchive reads the directory of an archive of size bytes. The reader has to stay usable as long as the archive.
// Errors are ErrFormat: no zip file, more than 65536 arrays, or two of one name.
func OpenArchive(r io.ReaderAt, size int64) (*Archive, error) {
	reader, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if len(reader.File) > maxEntries {
		return nil, fmt.Errorf("%w: %d arrays in one archive", ErrFormat, len(reader.File))
	}
	a := &Archive{entries: map[string]*zip.File{}}
	for _, f := range reader.File {
		name := strings.TrimSuffix(f.Name, ".npy")
		if a.entries[name] != nil {
			return nil, fmt.Errorf("%w: array %q is there twice", ErrFormat, name)
		}
		a.names = append(a.names, name)
		a.entries[name] = f
	}
	return a, nil
}

// Names lists the arrays in the order of the file. They are without .npy. The caller must not change the result.
func (a *Archive) Names() []string { return a.names }

// Header returns an array without its data.
func (a *Archive) Header(name string) (*Array, error) {
	r, err := a.open(name)
	if err != nil {
		return nil, err
	}
	header, err := ReadHeader(r)
	return header, errors.Join(err, r.Close())
}

// Read reads an array of at most limit bytes. Before it inflates data, it compares the header with the size in the
// directory of the archive. A checksum that is wrong is ErrFormat.
func (a *Archive) Read(name string, limit int64) (*Array, error) {
	r, err := a.open(name)
	if err != nil {
		return nil, err
	}
	array, err := read(r, limit, int64(min(a.entries[name].UncompressedSize64, math.MaxInt64)))
	if closed := r.Close(); err == nil && closed != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, closed)
	}
	return array, err
}

// open begins to inflate an array. There is ErrFormat for one that is not there or is encrypted.
func (a *Archive) open(name string) (io.ReadCloser, error) {
	f := a.entries[name]
	if f == nil {
		return nil, fmt.Errorf("%w: there is no array %q", ErrFormat, name)
	}
	if f.Flags&1 != 0 {
		return nil, fmt.Errorf("%w: it is encrypted", ErrFormat)
	}
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return r, nil
}

// ArchiveWriter writes a .npz file. The same arrays in the same order give the same bytes. Entries are deflated and
// have no time of change.
type ArchiveWriter struct{ zip *zip.Writer }

// NewArchiveWriter starts an archive on w.
func NewArchiveWriter(w io.Writer) *ArchiveWriter { return &ArchiveWriter{zip.NewWriter(w)} }

// Array starts an array; the caller writes it, header and data, before the next call.
func (a *ArchiveWriter) Array(name string) (io.Writer, error) {
	return a.zip.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: zip.Deflate})
}

// Close writes the directory of the archive. It does not close the writer below.
func (a *ArchiveWriter) Close() error { return a.zip.Close() }
