package switchyard

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// keepers are the packages that read and change the folders of runs and sweeps.
var keepers = []string{
	"store", "store/checkpoint", "coordinator", "lead", "lead/job", "ops", "trained", "eval/figure", "paper", "sweep", "sweep/fit", "sweep/trials", "web",
}

// elsewhere are functions of theirs that work on other files: those that the user named, and temporary ones.
var elsewhere = []string{
	"lead/job: scaling", "lead: run", "lead: copyLog", "web: ReadToken", "trained: Export", "sweep/trials: Prepare",
	"paper: begin", "paper: keep",
}

// TestRunFolders_OneFileLayer: what is read of the folder of a run passes internal/disk, which refuses pipes, devices and
// links, and what is changed passes it, too, so that tests can kill a process at every change.
func TestRunFolders_OneFileLayer(t *testing.T) {
	t.Parallel()
	direct := []string{
		"Create", "CreateTemp", "Open", "OpenFile", "ReadFile", "WriteFile", "Mkdir", "MkdirAll", "MkdirTemp", "Rename", "Remove", "RemoveAll",
		"Truncate", "Link", "Symlink", "Chmod", "Chtimes",
	}
	used := map[string]bool{}
	for _, folder := range keepers {
		paths, err := filepath.Glob(filepath.Join(filepath.FromSlash(folder), "*.go"))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %v", folder, err)
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			positions := token.NewFileSet()
			file, err := parser.ParseFile(positions, path, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range file.Decls {
				f, ok := d.(*ast.FuncDecl)
				if !ok {
					continue
				}
				name := folder + ": " + f.Name.Name
				ast.Inspect(f, func(n ast.Node) bool {
					s, ok := n.(*ast.SelectorExpr)
					if !ok {
						return true
					}
					p, ok := s.X.(*ast.Ident)
					switch {
					case !ok || p.Name != "os" || !slices.Contains(direct, s.Sel.Name):
					case slices.Contains(elsewhere, name):
						used[name] = true
					default:
						t.Errorf("%s: %s calls os.%s: go through store or internal/disk", positions.Position(s.Pos()), f.Name.Name, s.Sel.Name)
					}
					return true
				})
			}
		}
	}
	for _, name := range elsewhere {
		if !used[name] {
			t.Errorf("%s touches no file itself: it needs no exception", name)
		}
	}
}
