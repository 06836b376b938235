package keys

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ErrRole is returned for a hand-out to a role that does not exist.
var ErrRole = errors.New("keys: no such role")

// The roles to which files are handed out.
const (
	RoleBroker      = "broker"
	RoleCoordinator = "coordinator"
	RoleWorker      = "worker"
	RoleOperator    = "operator"
	RoleMetrics     = "metrics"
)

// Roles are all roles to which files are handed out.
func Roles() []string {
	return []string{RoleBroker, RoleCoordinator, RoleWorker, RoleOperator, RoleMetrics}
}

// filesOf are the files that a role needs, and no more.
func filesOf(role string) []string {
	return map[string][]string{
		RoleBroker:      {Auth, TLS, Server, ServerKey},
		RoleCoordinator: {CoordinatorKey, PageToken, CA},
		RoleWorker:      {WorkerKey, CA},
		RoleOperator:    {OperatorKey, PageToken, CA},
		RoleMetrics:     {PageToken},
	}[role]
}

// HandOut copies what a role needs from a folder of keys into a folder of its own, which is made if missing. Files that
// are there and differ are replaced: after a key was made anew, handing out again brings it to its role.
func HandOut(dir, role, target string) error {
	names := filesOf(role)
	if !slices.Contains(Roles(), role) {
		return fmt.Errorf("%w: %q, there are %s", ErrRole, role, strings.Join(Roles(), ", "))
	}
	if err := os.MkdirAll(target, 0o700); err != nil {
		return fmt.Errorf("make the folder of the %s: %w", role, err)
	}
	f := &folder{path: target}
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return fmt.Errorf("hand out to the %s: %w", role, err)
		}
		if err := f.derive(name, data); err != nil {
			return fmt.Errorf("hand out to the %s: %w", role, err)
		}
	}
	return nil
}
