package cmd

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// elsewhereJSON are commands whose --json another test reads, by its name.
var elsewhereJSON = map[string]string{
	"switchyard chaos":         "TestChaos_SameBits",
	"switchyard fit":           "TestFit_FromFileToForecast",
	"switchyard bench sweep":   "TestBench_Sweep",
	"switchyard runs stop":     "TestJSON_AtACoordinator",
	"switchyard submit":        "TestJSON_AtACoordinator",
	"switchyard sweep submit":  "TestJSON_AtACoordinator",
	"switchyard sweep stop":    "TestJSON_AtACoordinator",
	"switchyard sweep pause":   "TestJSON_AtACoordinator",
	"switchyard sweep resume":  "TestJSON_AtACoordinator",
	"switchyard sweep extend":  "TestJSON_AtACoordinator",
	"switchyard config schema": "what it prints is JSON",
	"switchyard bench report":  "what it reads is JSON",
}

// endless are commands without a result: they run until they are ended, and --log-format json makes records of what they
// say.
var endless = []string{"switchyard broker", "switchyard coordinator", "switchyard worker", "switchyard serve"}

// everyCommandHasJSON fails for a command whose result programs cannot read.
func everyCommandHasJSON(t *testing.T, seen map[string]bool) {
	t.Helper()
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		path := c.CommandPath()
		leads := c.HasSubCommands() && path != "switchyard sweep"
		if leads || !c.Runnable() || slices.Contains(endless, path) || strings.HasPrefix(path, "switchyard completion") || path == "switchyard help" {
			return
		}
		if !seen[path] && elsewhereJSON[path] == "" {
			t.Errorf("no test reads %s --json", path)
		}
		if f := c.Flags().Lookup("json"); f == nil && path != "switchyard config schema" && path != "switchyard bench report" {
			t.Errorf("%s has no --json", path)
		} else if f != nil && f.Usage != "print the result as one JSON value" {
			t.Errorf("%s --json says %q", path, f.Usage)
		}
	}
	walk(flagTree())
}

// key is what names in JSON look like; keys of configurations have points, file names endings, and matrices capitals.
var key = regexp.MustCompile(`^([a-z0-9][a-z0-9_./-]*|[A-Z])$`)

// oneJSON fails unless a text is one JSON value, an object or a list.
func oneJSON(t *testing.T, line, text string) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	var v any
	if err := d.Decode(&v); err != nil {
		t.Errorf("%s --json is no JSON: %v\n%.400s", line, err, text)
		return
	}
	var more any
	if err := d.Decode(&more); !errors.Is(err, io.EOF) {
		t.Errorf("%s --json prints more than one value: %v\n%.400s", line, more, text)
	}
	if !strings.HasSuffix(text, "\n") {
		t.Errorf("%s --json does not end with a line", line)
	}
	switch v := v.(type) {
	case map[string]any:
		for name := range v {
			if !key.MatchString(name) {
				t.Errorf("%s --json has the key %q", line, name)
			}
		}
	case []any:
	default:
		t.Errorf("%s --json is neither an object nor a list: %.100s", line, text)
	}
}

// painting are escape sequences, and what returns to the beginning of a line.
var painting = regexp.MustCompile("\x1b\\[[0-9;]*[A-Za-z]")

// fits fails for a line of more than 80 columns, unless it is one word, which is a path or a hash.
func fits(t *testing.T, command, text string) {
	t.Helper()
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == '\r' }) {
		line = painting.ReplaceAllString(line, "")
		if n := utf8.RuneCountInString(line); n > 80 && len(strings.Fields(line)) > 1 {
			t.Errorf("%s: a line of %d columns: %s", command, n, line)
		}
	}
}

// TestHelp_Fits: no help text is wider than a terminal.
func TestHelp_Fits(t *testing.T) {
	t.Parallel()
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		words := strings.Fields(c.CommandPath())[1:]
		var out buffer
		a := &app{kinds: builtin(), invoked: "switchyard", cores: 2, out: &out, err: &out}
		if code := a.run(append(words, "--help")); code != exitOK {
			t.Errorf("%q --help: exit code %d", words, code)
		}
		if c.Name() != "completion" && (!c.HasParent() || c.Parent().Name() != "completion") { // cobra's own texts
			fits(t, strings.Join(words, " ")+" --help", out.String())
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(flagTree())
}

// freeTexts are flags whose value no list knows: new names, addresses, numbers, sets of settings, columns and recordings of files.
var freeTexts = []string{
	"name", "reason", "id", "cluster", "cluster-seed", "listen", "web", "url", "nats", "link", "stragglers", "experiment", "older-than", "host", "worker", "recording",
	"observe", "control", "label", "time", "rename", "resample", "transform", "quantiles", "only", "seeds", "measured",
	"tag", "untag", "note", "drop", "dup", "delay", "corrupt", "nan", "pause", "partition", "disk-full", "kill", "coordinator-kill", "nats-restart",
}

// places are flags whose value is a file or a folder, which shells complete.
var places = []string{
	"runs-dir", "sweeps-dir", "out", "data", "in", "controls", "config", "keys", "dir", "nkey", "tls-ca", "web-token-file", "health-file", "file", "cpuprofile", "trace", "measured",
	"shared-memory",
}

// TestCompletion_OfFlags: a flag that takes one of some names completes them.
func TestCompletion_OfFlags(t *testing.T) {
	t.Parallel()
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
			named := strings.HasPrefix(f.Value.Type(), "string")
			if _, completed := c.GetFlagCompletionFunc(f.Name); named && !completed && !slices.Contains(freeTexts, f.Name) && !slices.Contains(places, f.Name) {
				t.Errorf("%s --%s completes nothing", c.CommandPath(), f.Name)
			}
		})
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(flagTree())
	c := newCLI(t)
	c.must("train", "noise/smoke", "--name", "first", "--quiet", "train.steps=1")
	c.must("train", "noise/smoke", "--name", "second", "--quiet", "train.steps=1")
	c.must("init", "--dir", c.dir+"/.keys", "--worker", "lab")
	for line, want := range map[string]string{
		"eval first --checkpoint ?":               "best last",
		"bench sweep --stop ?":                    "halving hyperband asha median none",
		"init --hand-out ?":                       "broker= coordinator= metrics= operator= route= worker=",
		"runs compare first ?":                    "second",
		"runs compare first second ?":             "",
		"runs rm first ?":                         "second",
		"runs label first ?":                      "second",
		"report first ?":                          "second",
		"diff first ?":                            "second",
		"runs show first ?":                       "",
		"runs export --to ?":                      "csv tensorboard mlflow",
		"keys --dir " + c.dir + "/.keys revoke ?": "coordinator operator worker worker-lab",
	} {
		words := strings.Fields(strings.ReplaceAll(line, "?", ""))
		r := c.must(append(append([]string{"__complete"}, words...), "")...)
		var got []string
		for offer := range strings.Lines(r.out) {
			if word, _, _ := strings.Cut(strings.TrimSpace(offer), "\t"); word != "" && word[0] != ':' {
				got = append(got, word)
			}
		}
		slices.Sort(got)
		wanted := strings.Fields(want)
		slices.Sort(wanted)
		if !slices.Equal(got, wanted) {
			t.Errorf("%s offers %q, want %q", line, got, wanted)
		}
	}
}

// TestValidations_AreAllLogged: each validation has its line, on a terminal, too, where a status is repainted.
func TestValidations_AreAllLogged(t *testing.T) {
	t.Parallel()
	for _, columns := range []int{0, 80} {
		c := newCLI(t)
		c.columns = columns
		r := c.must("train", "noise/smoke", "train.steps=40", "train.validate_every=1", "--name", "a")
		if n := strings.Count(r.err, "validation: step="); n != 40 {
			t.Errorf("%d columns: %d of 40 validations are in the log", columns, n)
		}
	}
}
