package switchyard_test

import (
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// declaredTests are the tests of a folder's package, by name: true where the file has the build tag long.
func declaredTests(t *testing.T, folder string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]bool{}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") && f.Name.Name != "TestMain" {
				tests[f.Name.Name] = needsLong(file)
			}
		}
	}
	return tests
}

// needsLong is true for a file that the build tag long adds.
func needsLong(file *ast.File) bool {
	for _, group := range file.Comments {
		for _, c := range group.List {
			expression, err := constraint.Parse(c.Text)
			if err != nil || c.Pos() > file.Package {
				continue
			}
			with := expression.Eval(func(string) bool { return true })
			without := expression.Eval(func(tag string) bool { return tag != "long" })
			return with && !without
		}
	}
	return false
}

// exists is true for a file that can be read.
func exists(elements ...string) bool {
	_, err := os.Stat(filepath.Join(elements...))
	return err == nil
}

// TestLong_ListIsTheTree: what go test ./... leaves out or shortens is in .ci/long.txt with a reason, what is there exists,
// and .ci/run has a stage that runs the list.
func TestLong_ListIsTheTree(t *testing.T) {
	text, err := os.ReadFile(".ci/long.txt")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]map[string]bool{} // by folder
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" {
			continue
		}
		words := strings.Fields(line)
		if len(words) < 5 || !strings.HasPrefix(words[0], ".") {
			t.Errorf(".ci/long.txt: the line %q is not a package, a test and a reason", strings.TrimSpace(line))
			continue
		}
		folder := filepath.Clean(words[0])
		if listed[folder] == nil {
			listed[folder] = map[string]bool{}
		}
		listed[folder][words[1]] = true
	}
	for folder, names := range listed {
		tests := declaredTests(t, folder)
		for name := range names {
			long, declared := tests[name]
			if !declared {
				t.Errorf(".ci/long.txt: %s has no test %s", folder, name)
			} else if !long && !exists(folder, "scale_long_test.go") {
				t.Errorf(".ci/long.txt: %s of %s is the same with the tag long and without", name, folder)
			}
		}
	}
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		for name, long := range declaredTests(t, path) {
			if long && !listed[path][name] {
				t.Errorf("%s: %s has the build tag long and is not in .ci/long.txt", path, name)
			}
		}
		if exists(path, "scale_long_test.go") && len(listed[path]) == 0 {
			t.Errorf("%s has sizes for the tag long, and .ci/long.txt no test of it", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile(".ci/run")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"\nstage 'test' go test ./...\n", "\nsample 'long' long\n", "\nsample 'budget' budget\n", ".ci/long.txt", "go test -tags long"} {
		if !strings.Contains(string(script), part) {
			t.Errorf(".ci/run has no %q", strings.TrimSpace(part))
		}
	}
}

// TestRace_ListIsTheTree: each test that the race detector is not given exists in some package, and each that .ci/race.txt
// names in its own.
func TestRace_ListIsTheTree(t *testing.T) {
	script, err := os.ReadFile(".ci/run")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(script), "\nslow='^(")
	names, _, closed := strings.Cut(rest, ")$'\n")
	if !found || !closed {
		t.Fatal(".ci/run has no list of tests that are too slow for the race detector")
	}
	there := map[string]bool{}
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		for name := range declaredTests(t, path) {
			there[name] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(names, "|") {
		if !there[name] {
			t.Errorf(".ci/run keeps %s from the race detector, and there is no such test", name)
		}
	}
	list, err := os.ReadFile(".ci/race.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(list)) {
		words := strings.Fields(line)
		if len(words) != 2 || words[0] == "#" {
			continue
		}
		if _, declared := declaredTests(t, words[0])[words[1]]; !declared {
			t.Errorf(".ci/race.txt names %s of %s, and there is no such test", words[1], words[0])
		}
	}
}
