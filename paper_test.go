package switchyard_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/config"
)

// quotedName is a name of the code within backticks: package.Name or package.Type.Method.
var quotedName = regexp.MustCompile("`([a-z]+)\\.([A-Za-z]\\w*)(\\.([A-Za-z]\\w*))?`")

// TestDocuments_NameWhatThereIs: a function that docs/paper.md maps an equation to, or that another document names,
// exists.
func TestDocuments_NameWhatThereIs(t *testing.T) {
	names := declarations(t)
	keys := config.Builtin().Kinds().Keys()
	for _, path := range []string{"docs/paper.md", "docs/models.md", "docs/architecture.md", "docs/glossary.md", "docs/data.md", "docs/recovery.md"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range quotedName.FindAllStringSubmatch(string(text), -1) {
			of, known := names[m[1]]
			if isKey := slices.ContainsFunc(keys, func(k config.Key) bool { return k.Path == m[1]+"."+m[2] }); !known || isKey {
				continue
			}
			if want := m[2] + m[3]; !of[want] {
				t.Errorf("%s names %s: package %s has no %s", path, m[0], m[1], want)
			}
		}
	}
}

// TestDocuments_PaperHasEveryFamily: docs/paper.md names functions of every package of models.
func TestDocuments_PaperHasEveryFamily(t *testing.T) {
	text, err := os.ReadFile("docs/paper.md")
	if err != nil {
		t.Fatal(err)
	}
	packages, err := filepath.Glob("model/*/settings.go")
	if err != nil || len(packages) < 5 {
		t.Fatalf("%d packages, %v", len(packages), err)
	}
	for _, file := range append(packages, "model/pointwise/static.go", "model/pointwise/linear.go") {
		if name := filepath.Base(filepath.Dir(file)); !strings.Contains(string(text), "`"+name+".") {
			t.Errorf("docs/paper.md names no function of package %s", name)
		}
	}
}

// declarations lists what each package of the module declares, by its name: Name, and Type.Method or Type.Field.
func declarations(t *testing.T) map[string]map[string]bool {
	t.Helper()
	all := map[string]map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), "_") || strings.HasPrefix(d.Name(), ".") && path != "." || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		of := all[file.Name.Name]
		if of == nil {
			of = map[string]bool{}
			all[file.Name.Name] = of
		}
		for _, declaration := range file.Decls {
			declare(of, declaration)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func declare(of map[string]bool, declaration ast.Decl) {
	switch d := declaration.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			of[d.Name.Name] = true
			return
		}
		of[receiver(d.Recv.List[0].Type)+"."+d.Name.Name] = true
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				of[s.Name.Name] = true
				if body, ok := s.Type.(*ast.StructType); ok {
					for _, f := range body.Fields.List {
						for _, n := range f.Names {
							of[s.Name.Name+"."+n.Name] = true
						}
					}
				}
				if body, ok := s.Type.(*ast.InterfaceType); ok {
					for _, f := range body.Methods.List {
						for _, n := range f.Names {
							of[s.Name.Name+"."+n.Name] = true
						}
					}
				}
			case *ast.ValueSpec:
				for _, n := range s.Names {
					of[n.Name] = true
				}
			}
		}
	}
}

// receiver is the name of a method's type.
func receiver(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.StarExpr:
		return receiver(x.X)
	case *ast.IndexExpr:
		return receiver(x.X)
	case *ast.Ident:
		return x.Name
	}
	return ""
}
