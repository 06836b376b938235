package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os/exec"
	"path"
	"regexp"
	"strings"
	"testing"
)

// pageFiles are the names and contents of all files of the page.
func pageFiles(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(page, "page", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := page.ReadFile(name)
		files[strings.TrimPrefix(name, "page/")] = string(data)
		return err
	})
	if err != nil || len(files) < 5 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	return files
}

func TestPage_IsServedAsItIs(t *testing.T) {
	b := newBench(t, testToken)
	files := pageFiles(t)
	for name, text := range files {
		status, header, body := b.ask("GET", "/"+name)
		if status != http.StatusOK || body != text || header.Get("Content-Type") != mediaTypes[path.Ext(name)] {
			t.Errorf("%s: %d %v", name, status, header)
		}
	}
	if status, _, body := b.ask("GET", "/"); status != http.StatusOK || body != files["index.html"] {
		t.Errorf("the page: %d", status)
	}
	for _, name := range []string{"/missing.js", "/page/main.js", "/..%2fserver.go", "/%2e%2e/server.go", "/page", "/main", "/main.js/"} {
		if status, _, _ := b.ask("GET", name); status != http.StatusNotFound {
			t.Errorf("%s: %d", name, status)
		}
	}
	if status, _, _ := b.ask("POST", "/"); status != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", status)
	}
}

// TestPage_NeedsNothingElse: no address outside, no path from the root (there may be a
// prefix), nothing inline that the policy refuses, and every file that is named is there.
func TestPage_NeedsNothingElse(t *testing.T) {
	files := pageFiles(t)
	refused := regexp.MustCompile(`https?://[^w]|https?://www\.[^w]|\bsrc="/|href="/|from '/|['"` + "`" + `]/api|<script>|<style|\sstyle="|\son\w+="|\beval\(|innerHTML|insertAdjacentHTML|document\.write|url\(`)
	named := regexp.MustCompile(`(?:href|src)="([\w.]+)"|from '\./([\w.]+)'`)
	for name, text := range files {
		text = strings.ReplaceAll(text, "http://www.w3.org/2000/svg", "")
		if found := refused.FindString(text); found != "" {
			t.Errorf("%s holds %q", name, found)
		}
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			if want := m[1] + m[2]; files[want] == "" {
				t.Errorf("%s names %s, which is not there", name, want)
			}
		}
	}
}

// TestPage_Syntax asks node, where it is installed, whether the scripts can be parsed.
func TestPage_Syntax(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed: the syntax of the scripts is not checked here")
	}
	scripts := pageFiles(t)
	maps.DeleteFunc(scripts, func(name, _ string) bool { return path.Ext(name) != ".js" })
	input, err := json.Marshal(scripts)
	if err != nil || len(scripts) == 0 {
		t.Fatalf("%d scripts, %v", len(scripts), err)
	}
	// One process parses all scripts as modules, runs none, and writes a line for each that has a mistake, and the number of all.
	check := exec.Command(node, "--experimental-vm-modules", "--no-warnings", "-e", `
		const { SourceTextModule } = require('node:vm');
		const scripts = Object.entries(JSON.parse(require('node:fs').readFileSync(0, 'utf8')));
		for (const [identifier, text] of scripts) {
			try { new SourceTextModule(text, { identifier }); } catch (e) { console.log(identifier, e.stack); }
		}
		console.log(scripts.length);`)
	check.Stdin = bytes.NewReader(input)
	out, err := check.CombinedOutput()
	if want := fmt.Sprintln(len(scripts)); err != nil || string(out) != want {
		t.Errorf("%v, got %s, want %s", err, out, want)
	}
}
