package switchyard

import (
	"bytes"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestSource_FitsTheScreen: no line of production code is wider than 120 columns, but for the tags of settings and raw
// strings, which cannot be broken, and tables of documentation.
func TestSource_FitsTheScreen(t *testing.T) {
	for _, p := range listPackages(t) {
		for _, file := range append(p.GoFiles, p.IgnoredGoFiles...) {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(filepath.Join(p.Dir, file))
			if err != nil {
				t.Fatal(err)
			}
			if bytes.HasPrefix(text, []byte("// Code generated")) {
				continue
			}
			raw, number := false, 0
			for line := range strings.Lines(string(text)) {
				number++
				quoted := strings.Count(line, "`") > 0
				if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 120 && !raw && !quoted && !strings.HasPrefix(line, "//\t") {
					t.Errorf("%s/%s:%d has %d columns, at most 120 fit", p.name(), file, number, n)
				}
				raw = raw != (strings.Count(line, "`")%2 == 1)
			}
		}
	}
}

// TestSource_ImportsAreGrouped: the standard library, other modules and this one are a group each, and no more.
func TestSource_ImportsAreGrouped(t *testing.T) {
	for _, p := range listPackages(t) {
		for _, file := range slices.Concat(p.GoFiles, p.IgnoredGoFiles, p.TestGoFiles, p.XTestGoFiles) {
			files := token.NewFileSet()
			tree, err := parser.ParseFile(files, filepath.Join(p.Dir, file), nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			group, before := 0, 0
			owners := map[string]int{} // and the group of each
			for _, spec := range tree.Imports {
				line := files.Position(spec.Pos()).Line
				if line > before+1 {
					group++
				}
				before = line
				of := owner(strings.Trim(spec.Path.Value, `"`), p.Module.Path)
				if g, ok := owners[of]; ok && g != group {
					t.Errorf("%s/%s:%d: imports of %s stand in two groups", p.name(), file, line, of)
				}
				owners[of] = group
			}
		}
	}
}

// owner says whose package it is, for the module that imports it.
func owner(imported, module string) string {
	first, _, _ := strings.Cut(imported, "/")
	switch {
	case imported == module || strings.HasPrefix(imported, module+"/"):
		return "this module"
	case strings.Contains(first, "."):
		return "other modules"
	}
	return "the standard library"
}
