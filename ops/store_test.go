package ops

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/internal/disk"
	"github.com/switchyard-ml/switchyard/store"
)

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func TestStore_KeepsWhatIsWhole(t *testing.T) {
	s := NewStore(filepath.Join(t.TempDir(), "data"), 100)
	data := []byte("a data set")
	hash := hashOf(data)
	if _, err := s.Load(hash); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing is there: %v", err)
	}
	size := int64(len(data))
	for _, step := range []struct {
		piece Piece
		want  Stored
	}{
		{Piece{hash, size, 0, nil}, Stored{0, false}},
		{Piece{hash, size, 0, data[:4]}, Stored{4, false}},
		{Piece{hash, size, 0, data[:4]}, Stored{4, false}}, // sent again
		{Piece{hash, size, 6, data[6:]}, Stored{4, false}}, // the one before is missing
		{Piece{hash, size, 4, data[4:6]}, Stored{6, false}},
		{Piece{hash, size, 6, data[6:]}, Stored{size, true}},
		{Piece{hash, size, 0, data[:4]}, Stored{size, true}},
	} {
		if got, err := s.Append(step.piece); err != nil || got != step.want {
			t.Errorf("%+v: got %+v, %v, want %+v", step.piece, got, err, step.want)
		}
	}
	if got, err := s.Load(hash); err != nil || !bytes.Equal(got, data) {
		t.Errorf("got %q, %v", got, err)
	}
	if err := s.Keep([]byte("another")); err != nil {
		t.Error(err)
	}
	if got, err := s.Load(hashOf([]byte("another"))); err != nil || string(got) != "another" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestStore_DropsWhatIsNotWhatItsHashSays(t *testing.T) {
	s := NewStore(t.TempDir(), 100)
	hash := hashOf([]byte("good"))
	if _, err := s.Append(Piece{hash, 4, 0, []byte("evil")}); err == nil {
		t.Error("accepted")
	}
	if got, err := s.Append(Piece{hash, 4, 0, []byte("good")}); err != nil || !got.Complete {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := s.Append(Piece{hashOf([]byte("no")), 9, 0, []byte("nonsense")}); err != nil || got.Have != 8 {
		t.Fatalf("got %v, %v", got, err)
	}
	if got, err := s.Append(Piece{hashOf([]byte("no")), 2, 0, []byte("no")}); err != nil || !got.Complete {
		t.Errorf("another size: got %v, %v", got, err)
	}
}

func TestStore_Refuses(t *testing.T) {
	dir := t.TempDir()
	s := NewStore(filepath.Join(dir, "data"), 100)
	hash := hashOf(nil)
	for _, p := range []Piece{
		{Hash: "../../etc/passwd", Size: 1},
		{Hash: strings.ToUpper(hash), Size: 1},
		{Hash: hash, Size: 0},
		{Hash: hash, Size: 101},
		{Hash: hash, Size: 5, Offset: -1},
		{Hash: hash, Size: 5, Offset: 4, Data: []byte("ab")},
	} {
		var e *Error
		if _, err := s.Append(p); !errors.As(err, &e) || e.Code != BadRequest {
			t.Errorf("%+v: got %v", p, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "data")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder was made: %v", err)
	}
	if _, err := s.Load("../x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestStore_NoticesDamage(t *testing.T) {
	dir := t.TempDir()
	s := NewStore(dir, 100)
	if err := s.Keep([]byte("good")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, hashOf([]byte("good"))), []byte("evil"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(hashOf([]byte("good"))); err == nil {
		t.Error("not noticed")
	}
}

// TestStore_ReplacesWhatIsDamaged: who brings a data set again that the disk has damaged mends it.
func TestStore_ReplacesWhatIsDamaged(t *testing.T) {
	dir, data := t.TempDir(), []byte("a data set")
	if err := os.WriteFile(filepath.Join(dir, hashOf(data)), []byte("a data"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := NewStore(dir, 100)
	if _, err := s.Load(hashOf(data)); err == nil {
		t.Error("a damaged data set is loaded")
	}
	for range 2 {
		if err := s.Keep(data); err != nil {
			t.Error(err)
		}
		if got, err := s.Load(hashOf(data)); err != nil || !bytes.Equal(got, data) {
			t.Errorf("got %q, %v", got, err)
		}
	}
}

// TestStore_WritesThroughNoLink: the folder of the runs may come from anywhere.
func TestStore_WritesThroughNoLink(t *testing.T) {
	dir, data := t.TempDir(), []byte("a data set")
	theirs := filepath.Join(t.TempDir(), "theirs")
	for _, content := range []string{"", "a data set of theirs, which is longer"} {
		if err := os.WriteFile(theirs, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		link := filepath.Join(dir, hashOf(data)+store.Incomplete)
		if err := os.Symlink(theirs, link); err != nil {
			t.Fatal(err)
		}
		if err := NewStore(dir, 100).Keep(data); err == nil {
			t.Error("a link is no data set")
		}
		if got, err := os.ReadFile(theirs); err != nil || string(got) != content {
			t.Errorf("their file has %q, %v", got, err)
		}
		os.Remove(link)
	}
}

// TestStore_SyncsTheName: what is answered to be complete survives a crash of the machine.
func TestStore_SyncsTheName(t *testing.T) {
	s, acts := NewStore(t.TempDir(), 100), []string{}
	s.disk = disk.Faulty(s.disk, func(a disk.Act) (int, error) {
		acts = append(acts, a.Kind)
		return 0, nil
	})
	if err := s.Keep([]byte("a data set")); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(acts[len(acts)-4:], ", "); got != "sync, close, rename, sync folder" {
		t.Errorf("all it did is %q", acts)
	}
}
