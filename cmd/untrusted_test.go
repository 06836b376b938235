package cmd

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/switchyard-ml/switchyard/store"
)

// evil is what a file says to make a terminal lie: it clears the screen, sets its title, goes back over the line,
// reverses the order of letters, and begins a line of its own.
const evil = "\x1b[2J\x1b]0;owned\x07\r\u202e\u2066\u009b1mok\u2028"

// readers are the lines of the scene whose commands show what is in files.
func readers() []string {
	lines := []string{
		"runs ls", "runs show evil", "resume evil", "__complete runs show ", "sweep ls", "sweep show evil", "data info evil.csv",
		"data show evil.csv -o pictures", "config check evil.yaml", "train evil.yaml --dry-run",
		"fit evil.csv --dry-run", "__complete data info evil.csv --observe ",
	}
	for _, line := range sceneLines {
		words := strings.Fields(line)
		named := strings.Contains(line, " own") || strings.Contains(line, " smoke") || strings.Contains(line, " rates")
		if named && words[0] != "train" && words[0] != "bench" && words[0] != "paper" {
			lines = append(lines, line)
		}
	}
	return lines
}

// poison puts evil text into every text of the JSON in a file, one value per line or one in all, but for those that a
// reader must be able to parse.
func poison(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var poisoned func(name string, v any) any
	poisoned = func(name string, v any) any {
		switch v := v.(type) {
		case string:
			known := []string{"state", "started", "updated", "at", "since", "kind", "time", "sha256", "distribution", "method", "fate", "order", "split"}
			if slices.ContainsFunc(known, func(k string) bool { return strings.HasSuffix(name, k) }) {
				return v
			}
			return v + evil
		case []any:
			for i := range v {
				v[i] = poisoned(name, v[i])
			}
		case map[string]any:
			for k := range v {
				v[k] = poisoned(k, v[k])
			}
		}
		return v
	}
	d, out := json.NewDecoder(strings.NewReader(string(data))), &strings.Builder{}
	for d.More() {
		var v any
		if err := d.Decode(&v); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if err := json.NewEncoder(out).Encode(poisoned("", v)); err != nil {
			t.Fatal(err)
		}
	}
	writeFile(t, path, out.String())
}

// obeyed is the first character of a text that a terminal would obey; empty: there is none.
func obeyed(text string) string {
	for i, r := range text {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028') {
			return text[max(0, i-40):min(len(text), i+10)]
		}
	}
	return ""
}

// evilTextIsHarmless: whatever files say, no command hands it to the terminal so that the terminal obeys.
func evilTextIsHarmless(t *testing.T, s *scene) {
	s.must("train", "noise/smoke", "--name", "evil", "--quiet", "train.steps=2", "train.checkpoint_every=1")
	if err := os.CopyFS("sweeps/evil", os.DirFS("sweeps/rates")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"runs/evil/run.json", "sweeps/evil/journal.jsonl", "sweeps/rates/runs/rates-001/run.json"} {
		if _, err := os.Stat(path); err == nil {
			poison(t, path)
		}
	}
	for path, text := range map[string]string{
		"evil.csv": "time,a" + evil + ",b\n" + strings.Repeat("1,2,3\n2,3,x"+evil+"\n", 9), "evil.yaml": "preset: \"x" + evil + "\"\nopt" + evil + ": 1\n",
		"runs/.bans.json":         `[{"key":"UDXU4RCSJNZO","since":"2026-01-01T00:00:00Z","reason":"` + strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(evil, "\x1b", `\u001b`), "\r", `\r`), "\x07", `\u0007`) + `"}]`,
		"runs/evil/overrides.txt": "seed=1" + evil + "\n", "runs/evil/config.yaml": "seed: \"" + evil + "\"\n",
	} {
		writeFile(t, path, text)
	}
	for _, name := range []string{"smoke", "own", "spare", "other"} {
		for _, file := range []string{"run.json", "log.jsonl"} {
			poison(t, filepath.Join("runs", name, file))
		}
	}
	said, draw := 0, rand.New(rand.NewPCG(26, 2))
	for _, line := range readers() {
		words := strings.Split(line, " ")
		if words[0] != "__complete" && draw.IntN(3) == 0 {
			words = append(words, "--json")
		}
		r := s.run(words...)
		for _, text := range []string{r.out, r.err} {
			if at := obeyed(text); at != "" {
				t.Errorf("%s: a terminal would obey %q", line, at)
			}
			if strings.Contains(text, "owned") {
				said++
			}
		}
	}
	if said < 8 { // else the test tests nothing
		t.Errorf("only %d outputs show the text at all", said)
	}
}

// nothingWaits puts a pipe in the place of each file of a run, and asks commands about it: none waits for it, and each
// run can be shown and removed. The pairs of file and command are drawn.
func nothingWaits(t *testing.T, s *scene) {
	files := []string{
		"run.json", "config.yaml", "overrides.txt", "metrics.jsonl", "log.jsonl", "lock", "normalisation.json", "labels.json", "checkpoints",
		"checkpoints/step-0000000020.json", "checkpoints/step-0000000020.safetensors",
	}
	lines := slices.DeleteFunc(readers(), func(line string) bool {
		return strings.Contains(line, "evil") || strings.Contains(line, "rates") || strings.HasPrefix(line, "runs rename")
	})
	draw := rand.New(rand.NewPCG(26, 1))
	for _, file := range files {
		path := filepath.Join("runs", "own", file)
		kept := filepath.Join(t.TempDir(), "kept")
		had := os.Rename(path, kept) == nil
		if err := makePipe(path); err != nil {
			t.Skip("no pipes here")
		}
		for _, line := range lines {
			if !strings.HasPrefix(line, "runs") && draw.IntN(12) > 0 {
				continue
			}
			ended := make(chan result, 1)
			go func() { ended <- s.run(strings.Fields(strings.ReplaceAll(line, "smoke", "own"))...) }()
			select {
			case r := <-ended:
				if strings.HasPrefix(line, "runs show") && (r.code != exitOK || !strings.Contains(r.out, "damaged") || !strings.Contains(r.out, filepath.Dir(file+"/"))) {
					t.Errorf("%s is a pipe: %s: exit code %d\n%s%s", file, line, r.code, r.out, r.err)
				}
			case <-time.After(hangLimit):
				t.Fatalf("%s is a pipe: %s waits for it", file, line)
			}
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if had {
			if err := os.Rename(kept, path); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Remove("runs/own/run.json"); err != nil || makePipe("runs/own/run.json") != nil {
		t.Fatal(err)
	}
	if r := s.must("runs", "show", "own", "--json"); !strings.Contains(r.out, string(store.Damaged)) {
		t.Errorf("got %s", r.out)
	}
	if r := s.must("runs", "rm", "own"); !strings.Contains(r.out, "removed own") {
		t.Errorf("got %s", r.out)
	}
}
