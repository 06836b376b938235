package ops

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/switchyard-ml/switchyard/internal/disk"
	"github.com/switchyard-ml/switchyard/store"
)

// Store keeps data sets in a folder, by their hash. Several goroutines of one process may use it at the same time;
// only one process at a time may add to the folder.
//
// A data set grows in HASH.part and is renamed to HASH when it is complete, synced and its hash is right. So a file
// with the name of a hash is whole, and an upload that was broken off goes on where it ended, also after a restart.
type Store struct {
	dir   string
	limit int64 // bytes of a data set
	disk  disk.Disk

	mu    sync.Mutex      // held while a piece is added: one at a time
	whole map[string]bool // by hash: whether what is there was found to be what it should
}

// NewStore returns the store in a folder. The folder is made for the first data set. No data set may be larger than
// limit.
func NewStore(dir string, limit int64) *Store {
	return &Store{dir: dir, limit: limit, disk: disk.System(), whole: map[string]bool{}}
}

// Append adds a piece to an incomplete data set, if the piece begins where that ends, and returns how much is stored. A
// complete data set with another hash than expected is deleted, and one that was damaged on the disk is replaced. A
// piece that begins elsewhere, or is empty, changes nothing: the answer tells where to go on. For what no piece may be,
// the error is an *Error with the code BadRequest.
func (s *Store) Append(p Piece) (Stored, error) {
	if err := s.check(p); err != nil {
		return Stored{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	// Somebody has uploaded it before.
	if s.has(p.Hash) {
		return Stored{Have: p.Size, Complete: true}, nil
	}
	if err := disk.MakeFolder(s.disk, s.dir); err != nil {
		return Stored{}, fmt.Errorf("make the folder of data sets: %w", err)
	}
	path := filepath.Join(s.dir, p.Hash+store.Incomplete)
	have, err := s.extend(path, p)
	if err != nil || have < p.Size {
		return Stored{Have: have}, err
	}
	if err := s.complete(path, p); err != nil {
		return Stored{}, err
	}
	s.whole[p.Hash] = true
	return Stored{Have: have, Complete: true}, nil
}

// check returns what is wrong with a piece. The hash becomes the name of a file, so it has to be nothing but digits.
func (s *Store) check(p Piece) error {
	switch {
	case !store.IsHash(p.Hash):
		return Errorf(BadRequest, "%.80q is not a SHA-256 in lower-case hexadecimal digits", p.Hash)
	case p.Size < 1 || p.Size > s.limit:
		return Errorf(BadRequest, "a data set of %d bytes: it may have 1 to %d", p.Size, s.limit)
	case p.Offset < 0 || p.Offset+int64(len(p.Data)) > p.Size:
		return Errorf(BadRequest, "bytes %d+%d of %d", p.Offset, len(p.Data), p.Size)
	}
	return nil
}

// extend appends a piece to a file if it begins where the file ends, and returns the length of the file. Of a piece
// that does not fit on the disk a part may stay: that is a beginning of the data set, too.
func (s *Store) extend(path string, p Piece) (have int64, err error) {
	info, err := os.Lstat(path)
	switch {
	case err == nil:
		have = info.Size()
	case !errors.Is(err, fs.ErrNotExist):
		return 0, fmt.Errorf("look at the data set: %w", err)
	}
	if have > p.Size { // two clients disagree about the size of one hash
		have = 0
	}
	if p.Offset != have || len(p.Data) == 0 {
		return have, nil
	}
	f, err := s.disk.Append(path, have)
	if err != nil {
		return 0, fmt.Errorf("open the data set: %w", err)
	}
	_, err = f.Write(p.Data)
	if err := errors.Join(err, f.Close()); err != nil {
		return 0, fmt.Errorf("write the data set: %w", err)
	}
	return have + int64(len(p.Data)), nil
}

// complete syncs a data set of which all has come, checks its hash, and gives the file its name.
func (s *Store) complete(path string, p Piece) error {
	f, err := s.disk.Append(path, p.Size)
	if err == nil {
		err = errors.Join(f.Sync(), f.Close())
	}
	var got string
	if err == nil {
		got, err = hashFile(path)
	}
	if err != nil {
		return fmt.Errorf("check the data set: %w", err)
	}
	if got != p.Hash {
		return errors.Join(&Error{
			Code: BadRequest, Text: fmt.Sprintf("the data set has the hash %s, not %s", got, p.Hash),
			Hint: "send it again",
		}, s.disk.Remove(path))
	}
	if err := errors.Join(s.disk.Rename(path, filepath.Join(s.dir, p.Hash)), s.disk.SyncFolder(s.dir)); err != nil {
		return fmt.Errorf("keep the data set: %w", err)
	}
	return nil
}

// hashFile is the SHA-256 of a file, in hexadecimal digits.
func hashFile(path string) (string, error) {
	f, _, err := disk.Open(path)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	return hex.EncodeToString(sum.Sum(nil)), errors.Join(err, f.Close())
}

// Keep stores a data set of this process, as if it had been uploaded in one piece. One that is there already is not
// written again.
func (s *Store) Keep(data []byte) error {
	sum := sha256.Sum256(data)
	p := Piece{Hash: hex.EncodeToString(sum[:]), Size: int64(len(data))}
	for {
		stored, err := s.Append(p)
		if err != nil || stored.Complete {
			return err
		}
		p.Offset, p.Data = stored.Have, data[stored.Have:]
	}
}

// has reports whether the store has a complete data set. It reads each once, as the disk may have damaged it. The lock
// is held.
func (s *Store) has(hash string) bool {
	if _, err := os.Stat(filepath.Join(s.dir, hash)); err != nil {
		return false
	}
	if _, known := s.whole[hash]; !known {
		_, err := s.Load(hash)
		s.whole[hash] = err == nil
	}
	return s.whole[hash]
}

// Load returns the data set with a hash, as store.DataSet does.
func (s *Store) Load(hash string) ([]byte, error) { return store.DataSet(s.dir, hash, s.limit) }
