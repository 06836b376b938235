//go:build long

package switchyard_test

import (
	"io/fs"
	"os"
	"os/exec"
	"testing"

	_ "github.com/switchyard-ml/switchyard/cmd" // the module imports it: go test runs this test again when it changes
)

// TestExample_IsAModuleOfItsOwn runs the tests of docs/example as its reader does. The module sees only what this one
// exports.
func TestExample_IsAModuleOfItsOwn(t *testing.T) {
	module := os.DirFS("docs/example")
	// The files are read so that go test runs this test again when one of them changes.
	err := fs.WalkDir(module, ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			_, err = fs.ReadFile(module, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command("go", "test", "./...")
	command.Dir = "docs/example"
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("go test in %s: %v\n%s", command.Dir, err, out)
	}
}
