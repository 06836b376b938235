package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

var (
	// ErrRole is returned when files are handed out to a role that does not exist.
	ErrRole = errors.New("keys: no such role")
	// ErrSource is returned when files are handed out to the folder that they are in.
	ErrSource = errors.New("keys: files are handed out to another folder than their own")
)

// The roles that files are handed out to.
const (
	RoleBroker      = "broker"
	RoleCoordinator = "coordinator"
	RoleWorker      = "worker"
	RoleOperator    = "operator"
	RoleMetrics     = "metrics"
	RoleRoute       = "route" // a worker that carries a server of a cluster, in addition to RoleWorker
)

// Roles lists all of them.
func Roles() []string {
	return []string{RoleBroker, RoleCoordinator, RoleWorker, RoleOperator, RoleMetrics, RoleRoute}
}

// filesOf are the files that a role needs, and no others.
func filesOf(role string) []string {
	return map[string][]string{
		RoleBroker:      {Auth, TLS, Server, ServerKey, RoutesConfig, Route, RouteKey, CA},
		RoleRoute:       {Auth, Route, RouteKey, CA},
		RoleCoordinator: {CoordinatorKey, PageToken, CA},
		RoleWorker:      {CA},
		RoleOperator:    {OperatorKey, PageToken, CA},
		RoleMetrics:     {PageToken},
	}[role]
}

// HandOut copies the files that a role needs from a folder of keys into a folder of its own, which it makes if it is
// missing. It replaces files that differ: after a key was made again, handing out again brings the new key to its
// role. The error is ErrRole for an unknown role, and ErrSource if the target is dir. Nothing is taken out of dir.
func HandOut(dir, role, target string) error {
	names := filesOf(role)
	if !slices.Contains(Roles(), role) {
		return fmt.Errorf("%w: %q, there are %s", ErrRole, role, strings.Join(Roles(), ", "))
	}
	if err := os.MkdirAll(target, 0o700); err != nil {
		return fmt.Errorf("make the folder of the %s: %w", role, err)
	}
	if err := apart(dir, target); err != nil {
		return fmt.Errorf("hand out to the %s: %w", role, err)
	}
	f := &folder{path: target}
	if role == RoleWorker {
		keys, err := handOutKeys(dir, f)
		if err != nil {
			return fmt.Errorf("hand out to the %s: %w", role, err)
		}
		names = append(names, keys...)
	}
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if role == RoleBroker && errors.Is(err, fs.ErrNotExist) && slices.Contains([]string{RoutesConfig, Route, RouteKey},
			name) {
			continue // one server needs no routes
		}
		if err != nil {
			return fmt.Errorf("hand out to the %s: %w", role, err)
		}
		if err := f.derive(name, data); err != nil {
			return fmt.Errorf("hand out to the %s: %w", role, err)
		}
	}
	return nil
}

// HandedOut returns how many nkeys a folder has that HandOut, or somebody by hand, has filled for one role; ok is unset
// for any other folder, among them a whole one that has lost a key.
func HandedOut(dir string) (keys int, ok bool) {
	f := &folder{path: dir}
	workers, err := f.workerKeys()
	if err != nil {
		return 0, false
	}
	has := func(name string) bool {
		_, err := os.Stat(f.join(name))
		return err == nil
	}
	if has(WorkerKey) {
		workers = append(workers, WorkerKey)
	}
	// The token goes to several roles; each of the others has something that no other has.
	roles := 0
	for _, own := range []bool{has(CoordinatorKey), has(OperatorKey), len(workers) > 0, has(Auth)} {
		if own {
			roles++
		}
	}
	keys = len(workers)
	if has(CoordinatorKey) || has(OperatorKey) {
		keys++
	}
	return keys, roles == 1 || roles == 0 && has(PageToken)
}

// apart returns ErrSource if two paths lead to the same folder.
func apart(dir, target string) error {
	source, err := os.Stat(dir)
	if err != nil {
		return err
	}
	other, err := os.Stat(target)
	if err == nil && os.SameFile(source, other) {
		err = fmt.Errorf("%w: %s", ErrSource, target)
	}
	return err
}

// handOutKeys names the keys that workers choose from: the numbered ones, or else the one for all. In the target it
// makes what they are locked with, and removes keys that are not handed out any more. A key that was revoked is so
// taken from workers, too.
func handOutKeys(dir string, target *folder) ([]string, error) {
	all, err := (&folder{path: dir}).workerKeys()
	if err != nil {
		return nil, err
	}
	keys := slices.DeleteFunc(all, func(file string) bool { return number(file) == 0 })
	if len(keys) == 0 {
		keys = []string{WorkerKey}
	}
	old, err := target.workerKeys()
	if err != nil {
		return nil, err
	}
	// A key that is handed out no more must not be found in the target.
	for _, file := range append(old, WorkerKey) {
		if slices.Contains(keys, file) {
			continue
		}
		if err := os.Remove(target.join(file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	for _, file := range keys {
		// Workers may not be able to make it there.
		if number(file) > 0 {
			if _, err := target.keepLock(file); err != nil {
				return nil, err
			}
		}
	}
	return keys, nil
}
