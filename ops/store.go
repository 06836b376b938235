package ops

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

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

	mu    sync.Mutex      // held while a piece is added: one at a time
	whole map[string]bool // by hash: whether what is there was found to be what it should
}

// NewStore returns the store in a folder. The folder is made for the first data set. No data set may be larger than
// limit.
func NewStore(dir string, limit int64) *Store {
	return &Store{dir: dir, limit: limit, whole: map[string]bool{}}
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
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return Stored{}, fmt.Errorf("make the folder of data sets: %w", err)
	}
	path := filepath.Join(s.dir, p.Hash+store.Incomplete)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o644)
	if err != nil {
		return Stored{}, fmt.Errorf("open the data set: %w", err)
	}
	have, err := extend(f, p)
	if err != nil || have < p.Size {
		return Stored{Have: have}, errors.Join(err, f.Close())
	}
	if err := s.complete(f, path, p.Hash); err != nil {
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

// extend appends a piece to the file if it begins where the file ends, and returns the length of the file.
func extend(f *os.File, p Piece) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, fmt.Errorf("look at the data set: %w", err)
	}
	have := info.Size()
	if have > p.Size { // two clients disagree about the size of one hash
		have = 0
		if err := f.Truncate(0); err != nil {
			return 0, fmt.Errorf("begin the data set again: %w", err)
		}
	}
	if p.Offset != have || len(p.Data) == 0 {
		return have, nil
	}
	if _, err := f.Write(p.Data); err != nil {
		// An incomplete piece is cut off, so that the file is again a beginning of the data set.
		return 0, errors.Join(fmt.Errorf("write the data set: %w", err), f.Truncate(have))
	}
	return have + int64(len(p.Data)), nil
}

// complete checks the hash of a complete data set and renames its file. It closes f in any case.
func (s *Store) complete(f *os.File, path, hash string) error {
	sum := sha256.New()
	_, err := f.Seek(0, io.SeekStart)
	if err == nil {
		_, err = io.Copy(sum, f)
	}
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("check the data set: %w", err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != hash {
		return errors.Join(&Error{
			Code: BadRequest, Text: fmt.Sprintf("the data set has the hash %s, not %s", got, hash),
			Hint: "send it again",
		}, os.Remove(path))
	}
	if err := os.Rename(path, filepath.Join(s.dir, hash)); err != nil {
		return fmt.Errorf("keep the data set: %w", err)
	}
	return nil
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
