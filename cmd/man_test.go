package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every command has a manual page with its flags.
func TestMan_EveryCommand(t *testing.T) {
	t.Parallel()
	c, dir := newCLI(t), t.TempDir()
	c.must("man", "-o", dir)
	for _, f := range allFlags() {
		command, flag, _ := strings.Cut(f, " --")
		path := filepath.Join(dir, strings.ReplaceAll(command, " ", "-")+".1")
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(text), ".TH ") || !strings.Contains(string(text), `\-\-`+strings.ReplaceAll(flag, "-", `\-`)+`\fR`) {
			t.Errorf("%s does not have --%s", path, flag)
		}
	}
}

// Help about a command that there is not is an error.
func TestHelp_Unknown(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	for _, line := range []struct{ words, hint string }{{"help nope", "the commands are"}, {"help trian", "did you mean train?"}, {"help data inf", "did you mean info?"}} {
		if r := c.run(strings.Fields(line.words)...); r.code != exitUsage || !strings.Contains(r.err, line.hint) {
			t.Errorf("%s: exit code %d, %s", line.words, r.code, r.err)
		}
	}
	for _, words := range []string{"help", "help train", "help data info"} {
		if r := c.run(strings.Fields(words)...); r.code != exitOK || !strings.Contains(r.out, "Usage:") {
			t.Errorf("%s: exit code %d, %q", words, r.code, r.out)
		}
	}
}
