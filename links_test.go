package switchyard_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// relativeLink is a link of a page in Markdown, without the part of the target after #.
var relativeLink = regexp.MustCompile(`\]\(([^)#\s]*)(#[^)\s]*)?\)`)

// TestDocuments_LinksHaveTargets: a page links to files of this repository that exist, and to headings that these have.
// Links to other sites are not followed.
func TestDocuments_LinksHaveTargets(t *testing.T) {
	pages := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".md") {
			return err
		}
		pages++
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range relativeLink.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			target := path
			if m[1] != "" {
				target = filepath.Join(filepath.Dir(path), m[1])
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s: %v", path, m[1], err)
			} else if m[2] != "" && strings.HasSuffix(target, ".md") && !anchors(t, target)[m[2][1:]] {
				t.Errorf("%s links to %s%s: there is no such heading", path, m[1], m[2])
			}
		}
		return nil
	})
	if err != nil || pages == 0 {
		t.Errorf("%d pages: %v", pages, err)
	}
}

// anchors are the names of the headings of a page in links, as GitHub makes them.
func anchors(t *testing.T, path string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	names, code := map[string]bool{}, false
	for line := range strings.Lines(string(text)) {
		code = code != strings.HasPrefix(line, "```")
		if heading := strings.TrimLeft(line, "#"); !code && heading != line {
			name := strings.Map(func(r rune) rune {
				switch {
				case r == ' ':
					return '-'
				case unicode.IsLetter(r) || unicode.IsNumber(r) || r == '-' || r == '_':
					return unicode.ToLower(r)
				}
				return -1
			}, strings.TrimSpace(heading))
			names[name] = true
		}
	}
	return names
}

// TestOperators_LogLines: a message of the table in docs/operators.md is in the program, as far as it is no number or
// name.
func TestOperators_LogLines(t *testing.T) {
	text, err := os.ReadFile("docs/operators.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "## Log messages about waiting")
	table, _, _ = strings.Cut(table, "\n## ")
	var source strings.Builder
	for _, folder := range []string{"cluster", "coordinator", "lead", "worker"} {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			source.Write(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	quoted, between := regexp.MustCompile("`([^`]+)`"), regexp.MustCompile(`:? ?…|\b(?:ID|[A-Z])\b|: for="|"| reason=`)
	checked := 0
	for line := range strings.Lines(table) {
		cells := strings.Split(line, " | ")
		for _, m := range quoted.FindAllStringSubmatch(cells[0], -1) {
			for _, part := range between.Split(m[1], -1) {
				if part = strings.TrimSpace(part); len(part) < 8 || part == "log.jsonl" {
					continue
				}
				if checked++; !strings.Contains(source.String(), part) {
					t.Errorf("nothing says %q: %s", part, line)
				}
			}
		}
	}
	if checked < 20 {
		t.Errorf("only %d messages", checked)
	}
}

// TestOperators_UpKeepsTheWorkers: Compose removes all workers but one where `up` does not say how many there are.
func TestOperators_UpKeepsTheWorkers(t *testing.T) {
	up := regexp.MustCompile(`compose( -f \S+)* up\b[^&` + "`" + `\n]*`)
	checked := 0
	for _, path := range []string{"README.md", "docs/operators.md", "docs/scaling.md", "docs/security.md"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range up.FindAllString(string(text), -1) {
			if checked++; !strings.Contains(line, "--scale worker=") {
				t.Errorf("%s: %s", path, line)
			}
		}
	}
	if checked < 8 {
		t.Errorf("only %d commands", checked)
	}
}
