package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/switchyard-ml/switchyard/internal/setting"
	"github.com/switchyard-ml/switchyard/wire"
)

// seenFile holds when the broker last saw each key.
const seenFile = "seen.json"

var (
	// ErrNoKey is returned for a key that the folder does not have.
	ErrNoKey = errors.New("keys: no such key")
	// ErrNoFolder is returned for a folder that holds no keys; it matches ErrNoKey.
	ErrNoFolder = fmt.Errorf("%w: this is no folder of keys", ErrNoKey)
	// ErrTwice is returned by Add for a key that is there already.
	ErrTwice = errors.New("keys: there is such a key already")
	// ErrNeeded is returned by Revoke for the key of a role without which nothing works.
	ErrNeeded = errors.New("keys: this key can be replaced, but not revoked")
)

// Key is an nkey of a folder.
type Key struct {
	Name    string    // of its file, without .nk
	Role    string    // RoleCoordinator, RoleOperator or RoleWorker
	Short   string    // the name that subjects, logs and the page have for it
	Created time.Time // when its file was written
	Seen    time.Time // when it was last connected to the broker; zero: not known
}

// List returns the nkeys of a folder: those of coordinator and operator, and then those of workers.
func List(dir string) ([]Key, error) {
	f := &folder{path: dir}
	users, err := f.users()
	if err != nil {
		return nil, err
	}
	seen, err := readSeen(dir)
	if err != nil {
		return nil, err
	}
	var list []Key
	for _, u := range users {
		info, err := os.Stat(f.join(u.file))
		if err != nil {
			return nil, fmt.Errorf("look at a key: %w", err)
		}
		k := Key{
			Name: strings.TrimSuffix(u.file, extension), Role: RoleWorker, Short: wire.KeyName(u.public),
			Created: info.ModTime(), Seen: seen[u.public],
		}
		switch u.file {
		case CoordinatorKey:
			k.Role = RoleCoordinator
		case OperatorKey:
			k.Role = RoleOperator
		}
		list = append(list, k)
	}
	return list, nil
}

// Add makes keys of workers, and lets the broker's list follow. All of them are new, or none is made. Others may read
// them if they may read all keys that are there. ErrWorker and ErrTwice say what is wrong with a name.
func Add(dir string, called []string) error {
	return manage(dir, func(f *folder) error {
		// All names are looked at before the first key is made.
		for _, name := range called {
			file, err := workerFile(name)
			if err != nil {
				return err
			}
			if _, err := os.Stat(f.join(file)); err == nil {
				return fmt.Errorf("%w: %s", ErrTwice, file)
			}
		}
		var err error
		if f.readable, err = f.shown(); err != nil {
			return err
		}
		for _, name := range called {
			file, _ := workerFile(name)
			if _, err := f.keep(file, newSeed); err != nil {
				return err
			}
		}
		return nil
	})
}

// Revoke removes keys of workers, and lets the broker's list follow: who uses one of them is cut off. ErrNoKey and
// ErrNeeded say what is wrong with a name.
func Revoke(dir string, called []string) error {
	return change(dir, called, func(f *folder, file string) error {
		if file == CoordinatorKey || file == OperatorKey {
			return fmt.Errorf("%w: %s", ErrNeeded, file)
		}
		if err := os.Remove(f.join(file)); err != nil {
			return fmt.Errorf("remove a key: %w", err)
		}
		return nil
	})
}

// Rotate replaces keys by others of the same names and roles, and lets the broker's list follow. Who uses the old one
// is cut off.
func Rotate(dir string, called []string) error {
	return change(dir, called, func(f *folder, file string) error {
		seed, err := newSeed()
		if err != nil {
			return err
		}
		return f.derive(file, seed)
	})
}

// change does something to keys, all of which must be there. called are names as in find; a key that is named twice is
// changed once.
func change(dir string, called []string, act func(f *folder, file string) error) error {
	return manage(dir, func(f *folder) error {
		users, err := f.users()
		if err != nil {
			return err
		}
		var files []string
		for _, name := range called {
			at := find(users, name)
			if at < 0 {
				return fmt.Errorf("%w: %q", ErrNoKey, name)
			}
			files = append(files, users[at].file)
		}
		for _, file := range slices.Compact(slices.Sorted(slices.Values(files))) {
			if err := act(f, file); err != nil {
				return err
			}
		}
		return nil
	})
}

// manage does something to the keys of a folder, one process at a time, and brings the broker's list up to date before
// and after: what an earlier call did not finish is finished.
func manage(dir string, act func(f *folder) error) error {
	release, err := lockFolder(dir)
	if err != nil {
		return err
	}
	defer release()
	f := &folder{path: dir}
	if err := f.writeAuth(); err != nil {
		return err
	}
	return errors.Join(act(f), f.writeAuth())
}

// writeAuth makes the broker's list from the keys that are there.
func (f *folder) writeAuth() error {
	users, err := f.users()
	if err != nil {
		return err
	}
	return f.derive(Auth, authConf(users))
}

// users are the keys that are there, in the order of the broker's list. Those of coordinator and operator have to be
// there.
func (f *folder) users() ([]user, error) {
	others, err := f.workerKeys()
	if err != nil {
		return nil, err
	}
	var users []user
	for _, file := range append([]string{CoordinatorKey, OperatorKey, WorkerKey}, others...) {
		seed, err := os.ReadFile(f.join(file))
		if errors.Is(err, fs.ErrNotExist) {
			if file == WorkerKey {
				continue
			}
			return nil, fmt.Errorf("%w: there is no %s", ErrNoFolder, f.join(file))
		}
		if err != nil {
			return nil, fmt.Errorf("read key: %w", err)
		}
		// Two keys that begin alike are refused here, before a list that names both is written.
		u := user{file: file}
		if u.public, err = publicKey(file, seed); err != nil {
			return nil, err
		}
		if err := u.allow(users); err != nil {
			return nil, err
		}
		users = append(users, u)
	}
	return users, nil
}

// shown reports whether containers of another user may read all keys that are there.
func (f *folder) shown() (bool, error) {
	users, err := f.users()
	for _, u := range users {
		info, statErr := os.Stat(f.join(u.file))
		if statErr != nil || info.Mode().Perm()&0o044 != 0o044 {
			return false, errors.Join(err, statErr)
		}
	}
	return err == nil, err
}

// find returns the place of the key that somebody means by a name: that of its file, with or without .nk, or the one
// that logs have; or else that of a worker's file without what all have. -1: there is none.
func find(users []user, name string) int {
	at := slices.IndexFunc(users, func(u user) bool {
		return name == u.file || name+extension == u.file || name == wire.KeyName(u.public) || name == u.public
	})
	if at < 0 {
		at = slices.IndexFunc(users, func(u user) bool { return workerPrefix+name+extension == u.file })
	}
	return at
}

// The names of keys of single workers.
const (
	workerPrefix = "worker-"
	extension    = ".nk"
)

// workerFile is the file of a worker's key.
func workerFile(name string) (string, error) {
	if err := setting.Check(name); err != nil {
		return "", fmt.Errorf("%w: %w", ErrWorker, err)
	}
	return workerPrefix + name + extension, nil
}

// workerKeys are the files of keys of single workers: the numbered ones by their numbers, then the others.
func (f *folder) workerKeys() ([]string, error) {
	list, err := fs.Glob(os.DirFS(f.path), workerPrefix+"*"+extension)
	if err != nil {
		return nil, fmt.Errorf("look for the keys of workers: %w", err)
	}
	slices.SortFunc(list, func(a, b string) int {
		x, y := number(a), number(b)
		switch {
		case x > 0 && y > 0:
			return x - y
		case x != y: // one of them has a number
			return y - x
		}
		return strings.Compare(a, b)
	})
	return list, nil
}

// NoteSeen records which keys, by their public parts, are connected to the broker at a time. Keys that were noted
// before and are not among them keep their times.
func NoteSeen(dir string, public []string, now time.Time) error {
	seen, err := readSeen(dir)
	if err != nil {
		return err
	}
	for _, key := range public {
		seen[key] = now.UTC().Truncate(time.Second)
	}
	data, err := json.MarshalIndent(seen, "", "  ")
	if err != nil {
		return fmt.Errorf("note the keys that were seen: %w", err)
	}
	return (&folder{path: dir}).derive(seenFile, append(data, '\n'))
}

// readSeen returns when each key, by its public part, was last seen.
func readSeen(dir string) (map[string]time.Time, error) {
	data, err := os.ReadFile(filepath.Join(dir, seenFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read when keys were seen: %w", err)
	}
	var seen map[string]time.Time
	if json.Unmarshal(data, &seen) != nil || seen == nil {
		return make(map[string]time.Time), nil // a list for people, made anew if it is damaged or missing
	}
	return seen, nil
}
