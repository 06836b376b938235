package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// scene is a folder, in which the test works, with all that commands ask for: the runs smoke, own and spare, the sweep
// rates, trajectories in data and a table.
type scene struct {
	*cli
}

func newScene(t *testing.T) *scene {
	t.Helper()
	c := newCLI(t)
	c.dir = "runs"
	writeTrajectories(t, "data", 12)
	c.must("train", "fhn/smoke", "--name", "smoke", "--quiet", "train.steps=6")
	c.must(append([]string{"train", "files", "env.files=data", "--name", "own"}, small...)...)
	for _, name := range []string{"spare", "other"} {
		c.must("train", "noise/smoke", "--name", name, "--quiet", "train.steps=2")
	}
	c.must("sweep", "-m", "noise/smoke", "seed=1", "optim.rate=1e-3,1e-2", "train.steps=2", "--name", "rates", "--web", "none", "--quiet")
	for name, text := range map[string]string{"fine.yaml": "optim:\n  rate: 0.001\n", "healthy": "well\n"} {
		writeFile(t, name, text)
	}
	return &scene{c}
}

// copied is a copy of the scene of the folder from, in which the test works from now on.
func copied(t *testing.T, from string) *scene {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "scene")
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	c := newCLI(t)
	c.dir = "runs"
	return &scene{c}
}

// sceneLines are a command line for every command with a result, in an order in which each finds what it needs. Those
// that need a coordinator, and those that take long, are in clusterLines and elsewhereJSON.
var sceneLines = []string{
	"health --file healthy",
	"version",
	"doctor",
	"train noise/smoke train.steps=2 --name one --quiet",
	"train fhn/smoke --dry-run",
	"resume smoke",
	"sweep -m noise/smoke seed=2 optim.rate=1e-3,1e-2 train.steps=2 --name more --web none --quiet",
	"sweep -m noise/smoke seed=2 optim.rate=1e-3,1e-2 --name planned --dry-run",
	"sweep ls",
	"sweep show rates",
	"sweep best rates",
	"eval smoke",
	"eval smoke --list",
	"forecast own --horizon 3",
	"filter own",
	"smooth own",
	"segment own",
	"simulate own --steps 4",
	"linearize own",
	"backtest own --horizon 2",
	"export own --out model",
	"paper --size smoke --only fhn --seeds 1 -o paper --dry-run",
	"report smoke -o reported",
	"verify smoke",
	"diff smoke smoke",
	"runs ls",
	"runs show smoke",
	"runs compare smoke own",
	"runs export smoke -o smoke.csv",
	"runs export smoke --to tensorboard -o boards",
	"runs label spare --tag good",
	"runs rename spare renamed",
	"runs prune --dry-run",
	"runs prune --yes",
	"runs rm other renamed",
	"data info data",
	"data generate maze --episodes 40 --out generated.npz",
	"data info generated.npz --bodies",
	"data generate bounce --episodes 20 --length 40 --out walls.npz",
	"data info walls.npz --regimes",
	"data convert data converted.npz",
	"data show fhn --length 20 --episodes 1 --out pictures",
	"config show fhn",
	"config check fine.yaml",
	"bench step noise/smoke --steps 1 --seconds 0.01 --threads 1",
	"bench kernels --samples 1 --only exp",
	"bench wire noise/smoke --steps 1 --turns 1 --threads 1",
	"bench scale fhn/smoke --one-machine --workers 1,2",
	"bench serve own --duration 50ms",
	"init --dir keys --workers 1",
	"keys ls --dir keys",
	"keys add lab --dir keys",
	"keys rotate lab --dir keys",
	"keys revoke lab --dir keys",
	"ban UDXU4RCSJNZO",
	"unban UDXU4RCSJNZO",
	"man --out man1",
}

// TestEveryCommand runs every line three times: as a program does, with --json, as on a terminal of 80 columns, and with a
// signal while it is under way; some get one at a moment that is drawn. Those that show files do it again with hostile files.
func TestEveryCommand(t *testing.T) {
	made := t.TempDir()
	t.Chdir(made)
	newScene(t)
	t.Run("json", func(t *testing.T) {
		s := copied(t, made)
		seen := map[string]bool{}
		for _, line := range sceneLines {
			r := s.run(append(strings.Fields(line), "--json")...)
			if r.code != exitOK {
				t.Errorf("%s --json: exit code %d\n%s", line, r.code, r.err)
				continue
			}
			oneJSON(t, line, r.out)
			seen[commandOf(t, line)] = true
		}
		everyCommandHasJSON(t, seen)
	})
	t.Run("80 columns", func(t *testing.T) {
		s := copied(t, made)
		s.columns = 80
		for _, line := range sceneLines {
			r := s.run(strings.Fields(line)...)
			if r.code != exitOK {
				t.Errorf("%s: exit code %d\n%s", line, r.code, r.err)
			}
			fits(t, line, r.out)
			fits(t, line, r.err)
		}
		for _, line := range []string{"train nope", "runs show nothing_like_it", "train fhn optim.lr=1", "eval smoke --protocol nope", "train files env.files=none.csv", "data info none.csv", "submit fhn"} {
			r := s.run(strings.Fields(line)...)
			if r.code == exitOK {
				t.Errorf("%s succeeds", line)
			}
			fits(t, line, r.err)
		}
	})
	t.Run("signal", func(t *testing.T) { signalsEnd(t, copied(t, made)) })
	t.Run("signal at any moment", func(t *testing.T) { signalsAtAnyMoment(t, made) })
	t.Run("evil text", func(t *testing.T) { evilTextIsHarmless(t, copied(t, made)) })
	t.Run("pipes", func(t *testing.T) { nothingWaits(t, copied(t, made)) })
}

// commandOf is the path of the command of a line.
func commandOf(t *testing.T, line string) string {
	t.Helper()
	c, _, err := flagTree().Find(strings.Fields(line))
	if err != nil {
		t.Fatal(err)
	}
	return c.CommandPath()
}

// TestPrune: what goes of a finished run and of a loser of a sweep is told, asked about and removed; what can be resumed,
// what is the best, and what a file of another run is named in stays.
func TestPrune(t *testing.T) {
	t.Chdir(t.TempDir())
	c := newCLI(t)
	c.dir = "runs"
	c.must("sweep", "-m", "noise/smoke", "seed=1", "optim.rate=1e-3,1e-2,2e-3", "train.steps=4", "--name", "rates", "--web", "none", "--quiet")
	c.must("train", "noise/smoke", "--name", "done", "--quiet", "train.steps=40", "train.checkpoint_every=5", "train.validate_every=5")
	if r := c.interrupt("halted", "train", "noise/smoke", "--name", "halted", "train.steps=100000", "train.checkpoint_every=5"); r.code != exitInterrupted {
		t.Fatalf("exit code %d", r.code)
	}
	files := func(pattern string) []string {
		t.Helper()
		list, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	halted := files("runs/halted/checkpoints/*")
	before := files("runs/done/checkpoints/*")
	r := c.must("runs", "prune", "--dry-run")
	for _, want := range []string{"rates-00", "checkpoints and log", "a trial that lost in sweep rates", "dry run"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("%q is missing in\n%s", want, r.out)
		}
	}
	if strings.Contains(r.out, "halted") || strings.Count(r.out, "lost in sweep") != 2 {
		t.Errorf("what goes on, or the best trial, would go:\n%s", r.out)
	}
	c.stdin = "n\n"
	if r := c.must("runs", "prune"); !strings.Contains(r.out, "[y/N] nothing was removed") {
		t.Errorf("got\n%s", r.out)
	}
	c.stdin = ""
	if r := c.run("runs", "prune"); r.code != exitUsage || !strings.Contains(r.err, "--yes removes without asking") {
		t.Errorf("where nobody answers: exit code %d, %s", r.code, r.err)
	}
	if now := files("runs/done/checkpoints/*"); len(now) != len(before) {
		t.Errorf("something was removed: %v", now)
	}
	c.stdin = "yes\n"
	if r := c.must("runs", "prune"); strings.Count(r.out, "removed ") < 2 {
		t.Errorf("got\n%s", r.out)
	}
	if kept := files("sweeps/rates/runs/*/checkpoints"); len(kept) != 1 {
		t.Errorf("trials with checkpoints: %v", kept)
	}
	if got := files("runs/halted/checkpoints/*"); len(got) != len(halted) {
		t.Errorf("of a run that can be resumed there are %v, before %v", got, halted)
	}
	for _, which := range []string{"best", "last"} {
		c.must("eval", "done", "--checkpoint", which, "--episodes", "2")
	}
	c.must("verify", "done")
	c.must("sweep", "best", "rates")
	if r := c.must("runs", "prune", "--dry-run"); !strings.Contains(r.out, "nothing to remove") {
		t.Errorf("a second time there is\n%s", r.out)
	}
	if r := c.must("runs", "prune", "--older-than", "1d", "--yes"); !strings.Contains(r.out, "nothing to remove") {
		t.Errorf("a run of today is a day old:\n%s", r.out)
	}
	if r := c.must("runs", "prune", "--older-than", "0.0000001h", "--yes", "--sweeps-dir", "none"); !strings.Contains(r.out, "removed done: whole run") {
		t.Errorf("got\n%s", r.out)
	}
	if list := c.must("runs", "ls").out; strings.Contains(list, "done") || !strings.Contains(list, "halted") {
		t.Errorf("there are\n%s", list)
	}
	for line, want := range map[string]string{
		"runs prune --older-than 3x": "30d", "runs prune --older-than 20000w": "292 years", "runs prune --json": "--dry-run",
	} {
		if r := c.run(strings.Fields(line)...); r.code != exitUsage || !strings.Contains(r.err, want) {
			t.Errorf("%s: exit code %d, %s", line, r.code, r.err)
		}
	}
}
