package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
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
	scripts := pageFiles(t)
	maps.DeleteFunc(scripts, func(name, _ string) bool { return path.Ext(name) != ".js" })
	// One process parses all scripts as modules, runs none, and writes a line for each that has a mistake, and the number of all.
	out, err := inNode(t, `
		const { SourceTextModule } = require('node:vm');
		const scripts = Object.entries(JSON.parse(require('node:fs').readFileSync(0, 'utf8')));
		for (const [identifier, text] of scripts) {
			try { new SourceTextModule(text, { identifier }); } catch (e) { console.log(identifier, e.stack); }
		}
		console.log(scripts.length);`, scripts)
	if want := fmt.Sprintln(len(scripts)); err != nil || out != want || len(scripts) == 0 {
		t.Errorf("%v, got %s, want %s", err, out, want)
	}
}

// inNode runs a script in node, where it is installed, and returns what it writes. The files are JSON on its input.
func inNode(t *testing.T, script string, files map[string]string) (string, error) {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed: the scripts are not checked here")
	}
	input, err := json.Marshal(files)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	run := exec.CommandContext(ctx, node, "--experimental-vm-modules", "--no-warnings", "--max-old-space-size=256", "-e", script)
	run.Stdin = bytes.NewReader(input)
	out, err := run.CombinedOutput()
	return string(out), err
}

// ticksProbe prints, as JSON, the labels of the axes of both kinds of charts over ranges that are narrow, far from zero,
// long or below all digits of a number.
const ticksProbe = `
	const { SourceTextModule } = require('node:vm');
	const files = JSON.parse(require('node:fs').readFileSync(0, 'utf8'));
	const module = async (name) => {
		const m = new SourceTextModule(files[name], { identifier: name });
		await m.link((other) => module(other.slice(2)));
		await m.evaluate();
		return m;
	};
	module('scale.js').then(({ namespace: { linear, xTicks } }) => {
		const { marks, ticks } = new Function(files['sweep-charts.js'] + '; return { marks, ticks };')();
		const ranges = [[0, 1], [1.2345e-4, 1.2349e-4], [1e-13, 5e-13], [2000000, 2000900], [-1234567, -1234500], [12345.6, 12347],
			[1000, 1000 + 2 ** -43], [0.3, 0.1 + 0.2], [1e17, 1e17 + 16]];
		const labels = (list) => list.map((t) => t.label);
		const found = ranges.flatMap(([low, high]) => [labels(linear(low, high, 5)), marks(ticks([low, high], 5), Number).map(([text]) => text)]);
		const times = [[0, 50], [0, 5000], [200000, 203000], [172800, 200000], [0, 5e6]].map(([low, high]) => labels(xTicks(low, high, 6, true)));
		console.log(JSON.stringify([...found, ...times]));
	});`

// TestPage_TicksDiffer: no axis has one label twice, and one without digits to tell ticks apart has none, at once.
func TestPage_TicksDiffer(t *testing.T) {
	out, err := inNode(t, ticksProbe, pageFiles(t))
	var axes [][]string
	if err := errors.Join(err, json.Unmarshal([]byte(out), &axes)); err != nil || len(axes) != 23 {
		t.Fatalf("%d axes, %v, %s", len(axes), err, out)
	}
	for i, labels := range axes {
		differing := slices.Compact(slices.Clone(labels))
		if len(differing) < len(labels) || i < 12 && len(labels) < 2 {
			t.Errorf("axis %d: %q", i, labels)
		}
	}
}
