//go:build unix

package cmd

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestOutput_Permissions: a new file may be read by those whom the umask of the user lets read it, and a file that is
// replaced stays as private or as public as it was.
func TestOutput_Permissions(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	private, public := c.write("private.npz", ""), c.write("public.npz", "")
	if err := os.Chmod(private, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		path, umask string
		want        os.FileMode
	}{
		{filepath.Join(c.folder(), "new.npz"), "077", 0o600},
		{private, "022", 0o600},
		{public, "077", 0o644},
	} {
		// The umask belongs to a whole process.
		made := asProcess(t, "data", "generate", "fhn", "--episodes", "1", "--length", "9", "--force", "--out", test.path)
		cmd := exec.Command("sh", append([]string{"-c", "umask " + test.umask + `; exec "$@"`, "sh"}, made.Args...)...)
		cmd.Env = made.Env
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
		if info, err := os.Stat(test.path); err != nil || info.Mode().Perm() != test.want {
			t.Errorf("%s: %v, %v, want %v", test.path, info.Mode(), err, test.want)
		}
	}
}
