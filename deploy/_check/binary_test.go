package check

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// root is the repository, seen from this folder.
const root = "../.."

// TestMain builds the program once: flags are checked against the real one.
func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "switchyard")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	build := exec.Command("go", "build", "-buildvcs=false", "-o", filepath.Join(dir, "switchyard"), "./cmd/switchyard")
	build.Dir, build.Stderr = root, os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "build the program:", err)
		return 1
	}
	if err := os.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// accepts reports what the program says against a command line. Flags are parsed before
// --help is answered.
func accepts(arguments []string) error {
	if len(arguments) == 0 {
		return fmt.Errorf("no command is given")
	}
	out, err := exec.Command("switchyard", append(slices.Clone(arguments), "--help")...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("switchyard %s: %w\n%s", strings.Join(arguments, " "), err, out)
	}
	if !bytes.Contains(out, []byte("switchyard "+arguments[0])) {
		return fmt.Errorf("switchyard %s: no such command", arguments[0])
	}
	return nil
}

func TestAccepts_RefusesWhatTheProgramDoesNotKnow(t *testing.T) {
	if err := accepts([]string{"version"}); err != nil {
		t.Error(err)
	}
	for _, arguments := range [][]string{nil, {"verison"}, {"init", "--hots=a"}, {"worker", "--slots=many"}} {
		if accepts(arguments) == nil {
			t.Errorf("%q is taken", arguments)
		}
	}
}

// keyFolder returns a folder with the keys that init makes.
func keyFolder(t *testing.T, dir string) {
	t.Helper()
	if out, err := exec.Command("switchyard", "init", "--dir", dir, "--workers", "8").CombinedOutput(); err != nil {
		t.Fatalf("switchyard init: %v\n%s", err, out)
	}
}
