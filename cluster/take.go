package cluster

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

var (
	// ErrTaken is returned by Take when other processes use all keys of the folder.
	ErrTaken = errors.New("keys: all keys of workers are taken")
	// ErrNoWorkerKey is returned by Take for a folder without keys of workers.
	ErrNoWorkerKey = errors.New("keys: no keys of workers")
)

// lockExtension is that of the file that a worker locks whose key it has taken. It stays when the key is replaced.
const lockExtension = ".lock"

// number is N of a key called worker-N.nk; 0: it is called otherwise.
func number(file string) int {
	n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(file, workerPrefix), extension))
	if err != nil || n < 1 {
		return 0
	}
	return n
}

// numbered is the file of the n-th key.
func numbered(n int) string { return workerPrefix + strconv.Itoa(n) + extension }

// Take chooses a key for a worker from a folder with numbered ones, worker-1.nk and so on, that no other process has
// taken. It is taken until release is called, nothing refers to release any more, or the process ends. A folder that
// has only a key for all workers gives that one.
func Take(dir string) (file string, release func(), err error) {
	f := &folder{path: dir}
	list, err := f.workerKeys()
	if err != nil {
		return "", nil, err
	}
	count := 0
	for _, name := range list {
		if number(name) == 0 {
			continue
		}
		count++
		release, err := f.take(name)
		switch {
		case errors.Is(err, errLocked):
			continue
		case err != nil:
			return "", nil, err
		}
		return f.join(name), release, nil
	}
	if count > 0 {
		return "", nil, fmt.Errorf("%w: %d in %s, each used by another worker", ErrTaken, count, dir)
	}
	if _, err := os.Stat(f.join(WorkerKey)); err == nil {
		return f.join(WorkerKey), func() {}, nil
	}
	return "", nil, fmt.Errorf("%w in %s: it has neither %s nor %s", ErrNoWorkerKey, dir, numbered(1), WorkerKey)
}

// take locks what stands for a key: the file beside it that stays when the key is replaced, or the key itself in a
// folder in which no file can be made. errLocked: another process has it.
func (f *folder) take(key string) (release func(), err error) {
	lock, err := f.keepLock(key)
	if err != nil {
		lock = key
	}
	file, err := os.Open(f.join(lock))
	if err != nil {
		return nil, fmt.Errorf("take a key: %w", err)
	}
	return lockFile(file, false)
}

// keepLock makes the file that is locked in the place of a key, if it is missing, and returns its name.
func (f *folder) keepLock(key string) (name string, err error) {
	name = strings.TrimSuffix(key, extension) + lockExtension
	_, err = f.keep(name, func() ([]byte, error) { return nil, nil })
	return name, err
}

// lockFolder makes changes of a folder wait for each other.
func lockFolder(dir string) (release func(), err error) {
	file, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("lock the folder of the keys: %w", err)
	}
	return lockFile(file, true)
}

// errLocked is returned for a file that another process has locked.
var errLocked = errors.New("keys: locked by another process")
