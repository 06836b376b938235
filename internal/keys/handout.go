package keys

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ErrRole is returned when files are handed out to a role that does not exist.
var ErrRole = errors.New("keys: no such role")

// The roles that files are handed out to.
const (
	RoleBroker      = "broker"
	RoleCoordinator = "coordinator"
	RoleWorker      = "worker"
	RoleOperator    = "operator"
	RoleMetrics     = "metrics"
)

// Roles lists all of them.
func Roles() []string {
	return []string{RoleBroker, RoleCoordinator, RoleWorker, RoleOperator, RoleMetrics}
}

// filesOf are the files that a role needs, and no others.
func filesOf(role string) []string {
	return map[string][]string{
		RoleBroker:      {Auth, TLS, Server, ServerKey},
		RoleCoordinator: {CoordinatorKey, PageToken, CA},
		RoleWorker:      {WorkerKey, CA},
		RoleOperator:    {OperatorKey, PageToken, CA},
		RoleMetrics:     {PageToken},
	}[role]
}

// HandOut copies the files that a role needs from a folder of keys into a folder of its own, which it makes if it is
// missing. It replaces files that differ: after a key was made again, handing out again brings the new key to its role.
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
