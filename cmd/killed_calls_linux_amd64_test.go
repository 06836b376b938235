//go:build linux && amd64

package cmd

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// killedLines are commands that change a folder. Each is killed and started again.
var killedLines = []string{
	"train noise/smoke train.steps=4 train.checkpoint_every=2 --name new --web none --quiet",
	"resume half --web none --quiet",
	"runs rename done moved",
	"runs rm done",
	"runs prune --yes",
	"export done -o model",
	"eval done --episodes 2",
	"report done -o reported",
	"runs export done -o done.csv",
	"sweep -m noise/smoke seed=1 optim.rate=1e-3,1e-2 train.steps=2 --name rates --web none --quiet",
	"data generate fhn --episodes 2 --length 20 --out generated.npz",
}

// TestKilled_AtSystemCalls kills commands as they enter a system call that changes a file, and starts them again: they end
// as if nothing had happened, or resume does. The calls are drawn; TestKilled_AtEverySystemCall takes all of them.
func TestKilled_AtSystemCalls(t *testing.T) {
	made := killedScene(t)
	draw := rand.New(rand.NewPCG(26, 3))
	for _, line := range killedLines {
		calls, want := undisturbed(t, made, line)
		if calls > 0 {
			killedAt(t, made, line, 1+draw.IntN(calls), want)
		}
	}
}

// killedScene is a folder with the runs done and half.
func killedScene(t *testing.T) string {
	t.Helper()
	made := t.TempDir()
	t.Chdir(made)
	c := newCLI(t)
	c.dir = "runs"
	c.must("train", "noise/smoke", "--name", "done", "--quiet", "train.steps=8", "train.checkpoint_every=2", "train.validate_every=2")
	if r := c.interrupt("half", "train", "noise/smoke", "--name", "half", "train.steps=150", "train.checkpoint_every=5"); r.code != exitInterrupted {
		t.Fatalf("exit code %d\n%s", r.code, r.err)
	}
	return made
}

// undisturbed runs a command in a copy of the scene, and returns how many calls change something, and what is left then.
func undisturbed(t *testing.T, made, line string) (calls int, left []string) {
	t.Helper()
	k := &killer{t: t, dir: sceneOf(t, made)}
	if code := k.run(strings.Fields(line)...); code != exitOK || k.changes == 0 {
		t.Errorf("%s: exit code %d, %d changes", line, code, k.changes)
	}
	return k.changes, leftOf(t, k.dir)
}

// sceneOf is a copy of the scene, in which the test works from now on.
func sceneOf(t *testing.T, made string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err == nil {
		err = os.CopyFS(dir, os.DirFS(made))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	return dir
}

// killedAt runs a command in a copy of the scene, kills it at a call, and starts it again: what is left is what is wanted.
func killedAt(t *testing.T, made, line string, at int, want []string) {
	t.Helper()
	k := &killer{t: t, dir: sceneOf(t, made), at: at}
	words := strings.Fields(line)
	k.run(words...)
	c := newCLI(t)
	c.dir = "runs"
	r := c.run(words...)
	switch words[0] + " " + words[1] {
	case "train noise/smoke":
		if r.code == exitUsage && strings.Contains(r.err, "resume new") {
			r = c.run("resume", "new", "--quiet")
		}
	case "runs rename", "runs rm": // it may be done
		if r.code == exitUsage && strings.Contains(r.err, "no such run") {
			r.code = exitOK
		}
	}
	said := fmt.Sprintf("%s, killed at its %dth change: %s", line, at, k.what)
	if r.code != exitOK {
		t.Errorf("%s: then exit code %d\n%s", said, r.code, r.err)
	}
	if got := leftOf(t, k.dir); !slices.Equal(got, want) {
		t.Errorf("%s: there is\n%s\nundisturbed\n%s", said, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// leftOf lists the files below a folder, and the bits of each run. Temporary files, which are removed later, are left out,
// and so are event files, and checkpoints: which was the best at the last one depends on where the run began anew.
func leftOf(t *testing.T, dir string) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		name := strings.TrimPrefix(path, dir)
		if err == nil && !e.IsDir() && !strings.HasSuffix(name, ".tmp") && !strings.Contains(name, "/.") && !strings.Contains(name, "/tb/") &&
			!strings.Contains(name, "/checkpoints/step-") {
			list = append(list, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	c := newCLI(t)
	c.dir = filepath.Join(dir, "runs")
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			list = append(list, fmt.Sprintf("%s %v %s", e.Name(), c.info(e.Name()).State, c.info(e.Name()).ParametersSHA256))
		}
	}
	return list
}
