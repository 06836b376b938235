package cmd

import (
	"os"
	"strings"
	"testing"
)

// A key is banned and let in again in a folder of runs, and the list of runs names it.
func TestBan_InAFolder(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	const key = "UDXU4RCSJNZO"
	for _, step := range []struct {
		args []string
		want string
	}{
		{[]string{"ban", "worker-1@" + key, "--reason", "stolen"}, "key " + key + " is banned"},
		{[]string{"ban", key}, "key " + key + " was banned before"},
		{[]string{"runs", "ls"}, "stolen"},
		{[]string{"unban", key}, "key " + key + " is let in again"},
		{[]string{"unban", key}, "key " + key + " was not banned"},
	} {
		if r := c.run(step.args...); r.code != exitOK || !strings.Contains(r.out, step.want) {
			t.Errorf("%q: exit code %d, %q %q", step.args, r.code, r.out, r.err)
		}
	}
	if r := c.run("runs", "ls"); strings.Contains(r.out, key) {
		t.Errorf("the list of runs still names it: %s", r.out)
	}
	if r := c.run("ban", "worker-1"); r.code != exitUsage || !strings.Contains(r.err, "nats-auth.conf") {
		t.Errorf("what is no key: exit code %d, %q", r.code, r.err)
	}
}

// A ban that cannot be written is an error, and nothing is said of the key: it was neither banned now nor before.
func TestBan_ThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	if err := os.Symlink("nowhere", c.dir); err != nil {
		t.Skip(err)
	}
	for _, form := range []string{"--json=false", "--json"} {
		r := c.run("ban", "UDXU4RCSJNZO", form)
		if r.code != exitFailed || r.out != "" || !strings.Contains(r.err, "write the banned keys") {
			t.Errorf("%s: exit code %d, %q %q", form, r.code, r.out, r.err)
		}
	}
}
