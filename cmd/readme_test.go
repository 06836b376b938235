package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// smokeSizes are the sizes of fhn/smoke, for lines that train a preset of minutes.
const smokeSizes = " env.episodes=16 env.length=60 env.window=20 model.hidden=16 model.switches=4 model.kl_samples=2" +
	" train.batch=16 train.shards=8 train.validation_episodes=8 train.checkpoint_every=10"

// readmeLine says how a command of the README is tested.
type readmeLine struct {
	line  string
	check func(*newcomer, readmeLine)
	more  string   // what is added to the line, to make it short or to take a port that is free
	code  int      // exit code
	want  []string // regular expressions that match the output
}

// readmeLines are all commands of the README, in its order. Each finds what those before it left behind.
var readmeLines = []readmeLine{
	{line: "go run ./cmd/switchyard train fhn/smoke", check: (*newcomer).compound, want: []string{"30 steps", "paper: ours", `figures/fhn\.png`, `train fhn +# learns`}},
	{line: "CGO_ENABLED=0 go build -o switchyard ./cmd/switchyard", check: (*newcomer).compound},
	{line: "switchyard doctor", check: (*newcomer).run, want: []string{"processor +(ok|warn) ", "numerics +ok "}},
	{line: "switchyard train fhn", check: (*newcomer).run, more: smokeSizes + " train.steps=20", want: []string{"20 steps", "paper: ours"}},

	{line: "switchyard train fhn/smoke model.switching=normal --name try", check: (*newcomer).run},
	{line: "switchyard resume try", check: (*newcomer).run, want: []string{"run try is finished at step 30"}},
	{line: "switchyard eval try", check: (*newcomer).run, want: []string{"paper: ours", `figures/fhn\.png`}},
	{line: "switchyard report try -o try-report", check: (*newcomer).run, want: []string{`try-report/index\.html`}},
	{line: "switchyard config show maze", check: (*newcomer).run, want: []string{"kind: maze", "learning rate"}},
	{line: "switchyard sweep -m fhn/smoke optim.rate=1e-3,1e-2 'seed=range(0,3)'", check: (*newcomer).run, more: " train.steps=6 --web none", want: []string{"2/2 trials +complete 2", `sweeps/fhn-smoke-sweep/index\.html`}},

	{line: "switchyard data generate fhn --episodes 50 --length 200 --out my.npz", check: (*newcomer).run, more: " --episodes 20 --length 100"},
	{line: "switchyard fit my.npz --name own --budget 1m", check: (*newcomer).run, more: " --budget 4s --families arhmm --workers 1", want: []string{"of the error of the best simple rule", "runs/own"}},
	{line: "switchyard forecast own --horizon 20 --out next.npz,next.svg", check: (*newcomer).run, want: []string{`forecast of .*, 20 steps`, `wrote +next\.svg`}},
	{line: "switchyard backtest own", check: (*newcomer).ahead, more: " --json"},

	{line: "switchyard data info my.npz", check: (*newcomer).run, want: []string{`switchyard train files env\.files=my\.npz env\.window=50`}},
	{line: "switchyard train files env.files=my.npz model.switching=categorical train.steps=3000 --name mine", check: (*newcomer).run, more: " train.steps=10 model.hidden=16 model.blocks=0 model.switches=3", want: []string{"runs/mine: 10 steps"}},
	{line: "switchyard segment mine --out regimes.npz,regimes.svg", check: (*newcomer).run, want: []string{"time constant", `wrote +regimes\.npz`}},
	{line: "switchyard export mine --format npz -o model", check: (*newcomer).run, want: []string{`wrote +model/model\.json`}},
	{line: "python3 deploy/python/switchyard.py model", check: (*newcomer).python, want: []string{"nx|observations|warmup"}},
	{line: "switchyard runs compare own mine", check: (*newcomer).run, want: []string{"not compared, because", `model\.kind +arhmm +slds`}},
	{line: "switchyard serve", check: (*newcomer).serve, more: " --web 127.0.0.1:0", want: []string{"page of the runs in runs: http://"}},

	{line: "cd docs/example && go run . train fhn/smoke env.kind=pendulum model.kind=regimes train.steps=300", check: (*newcomer).compiled, want: []string{"fhn-smoke-regimes-1: 300 steps"}},

	{line: "switchyard broker --listen 127.0.0.1:4222", check: (*newcomer).serve, more: " --listen 127.0.0.1:0", want: []string{`(?m)^nats://127\.0\.0\.1:\d+$`}},
	{line: "export SWITCHYARD_NATS=nats://127.0.0.1:4222", check: (*newcomer).export},
	{line: "switchyard coordinator", check: (*newcomer).serve, more: " --web 127.0.0.1:0", want: []string{"coordinator ready"}},
	{line: "switchyard worker", check: (*newcomer).serveTwo, want: []string{"worker: id="}},
	{line: "switchyard submit fhn --name first", check: (*newcomer).run, more: smokeSizes + " train.steps=1000000", want: []string{"first: it is"}},
	{line: "switchyard submit fhn seed=2 --name second", check: (*newcomer).run, more: smokeSizes + " train.steps=20", want: []string{"second: it is"}},
	{line: "switchyard runs ls", check: (*newcomer).repeat, want: []string{"first +running +[1-9]", "second +finished +20/20"}},
	{line: "switchyard runs stop first", check: (*newcomer).run, want: []string{"run first is stopped, with a checkpoint of step [1-9]"}},

	{line: "switchyard verify first", check: (*newcomer).run, want: []string{`steps 1\.\.[\d,]+: same bits as logged`}},
	{line: "switchyard diff first second", check: (*newcomer).run, code: exitFailed, want: []string{"seed is 1 in first, 2 in second", "differ first in tensor"}},
	{line: "switchyard chaos fhn --duration 5m", check: (*newcomer).run, more: smokeSizes + " --duration 3s --drop 5%", want: []string{"parameters +equal"}},

	{line: "docker compose up --scale worker=8", check: (*newcomer).inContainers},
	{line: "docker compose run --rm operator runs ls", check: (*newcomer).inContainers},

	{line: "switchyard paper --size smoke -o report", check: (*newcomer).run, more: " --seeds 1 --only fhn/fhn/concrete", want: []string{"fhn-level +undecided", `report/index\.html`}},
	{line: "switchyard paper --size quick -o report-quick --dry-run", check: (*newcomer).run, more: " --size smoke --only fhn", want: []string{"size smoke, .* to train"}},

	{line: "go test ./...", check: func(*newcomer, readmeLine) {}}, // it runs this test
}

// newcomer follows the README.
type newcomer struct {
	t        *testing.T
	ctx      context.Context // ends before the test is too long
	dir      string          // where the program is and runs
	compiles bool            // dir is a clone of the repository, and go is the compiler
	environ  []string
	url      string // of the broker
}

// TestReadme_EveryCommandWorks runs the commands of the README in its order, as the table says. This test program is the
// command: nothing is compiled. TestReadme_InAFreshClone builds what it runs.
func TestReadme_EveryCommandWorks(t *testing.T) {
	t.Parallel()
	n := &newcomer{t: t, dir: withoutCompiler(t)}
	n.environ = append(os.Environ(), asCommand+"=1")
	n.follow()
}

// follow runs the table in the folder of the newcomer, whose programs come first.
func (n *newcomer) follow() {
	n.t.Helper()
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		n.t.Fatal(err)
	}
	lines := commandLines(string(readme))
	var table []string
	for _, l := range readmeLines {
		table = append(table, l.line)
	}
	if !slices.Equal(lines, table) {
		n.t.Fatalf("the README and readmeLines have to list the same commands; the README has\n%s\nreadmeLines has\n%s", strings.Join(lines, "\n"), strings.Join(table, "\n"))
	}
	ctx, cancel := context.WithTimeout(n.t.Context(), 10*time.Minute)
	defer cancel()
	n.ctx = ctx
	n.environ = append(n.environ, "PATH="+n.dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	for _, l := range readmeLines {
		l.check(n, l)
	}
}

// goStandIn is a go that has compiled everything: run runs the program, and build puts it in its place.
const goStandIn = `#!/bin/sh
case "$1 $2" in
"run ./cmd/switchyard") shift 2 && exec "$PROGRAM" "$@" ;;
"build -o") test "$4" = ./cmd/switchyard && ln -s "$PROGRAM" "$3" ;;
*) echo "go $*: no test has this line" >&2 && exit 1 ;;
esac
`

// withoutCompiler makes a folder with what the commands of the README look for in a clone, and a stand-in for the compiler.
func withoutCompiler(t *testing.T) string {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	deploy, err := filepath.Abs("../deploy")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := strings.ReplaceAll(goStandIn, "$PROGRAM", program)
	if err := errors.Join(os.Symlink(deploy, filepath.Join(dir, "deploy")), os.WriteFile(filepath.Join(dir, "go"), []byte(script), 0o755)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// commandLines are the lines of the fenced blocks of a page, without comments.
func commandLines(page string) []string {
	var lines []string
	fenced := false
	for line := range strings.Lines(page) {
		line, _, _ = strings.Cut(strings.TrimRight(line, "\n"), "  #")
		switch line = strings.TrimSpace(line); {
		case strings.HasPrefix(line, "```"):
			fenced = !fenced
		case fenced && line != "":
			lines = append(lines, line)
		}
	}
	return lines
}

// program prepares a line that runs in the folder of the test; signals reach the program, not the shell.
func (n *newcomer) program(ctx context.Context, line string) (*exec.Cmd, *buffer) {
	return n.shell(ctx, "exec "+line)
}

func (n *newcomer) shell(ctx context.Context, line string) (*exec.Cmd, *buffer) {
	out := &buffer{}
	c := exec.CommandContext(ctx, "sh", "-c", line)
	c.Dir, c.Env, c.Stdout, c.Stderr = n.dir, n.environ, out, out
	c.WaitDelay = time.Second
	return c, out
}

// finish runs a prepared line to its end, and returns the output.
func (n *newcomer) finish(l readmeLine, c *exec.Cmd, out *buffer) string {
	n.t.Helper()
	began := time.Now()
	err := c.Run()
	n.t.Logf("%4.1f s  %s", time.Since(began).Seconds(), l.line)
	if c.ProcessState == nil || c.ProcessState.ExitCode() != l.code {
		n.t.Fatalf("%s%s: %v, want exit code %d\n%s", l.line, l.more, err, l.code, out)
	}
	return out.String()
}

// expect compares an output with what the line wants.
func (n *newcomer) expect(l readmeLine, out string) {
	n.t.Helper()
	for _, want := range l.want {
		if !regexp.MustCompile(want).MatchString(out) {
			n.t.Errorf("%s%s: %q is missing in\n%s", l.line, l.more, want, out)
		}
	}
}

func (n *newcomer) run(l readmeLine) {
	c, out := n.program(n.ctx, l.line+l.more)
	n.expect(l, n.finish(l, c, out))
}

// ahead runs a backtest, of which it expects a smaller error than that of persistence at every horizon.
func (n *newcomer) ahead(l readmeLine) {
	n.t.Helper()
	c, out := n.program(n.ctx, l.line+l.more)
	var report struct {
		Metrics struct {
			Ratio []float64 `json:"mae_ratio_to_persistence"`
		}
	}
	text := n.finish(l, c, out)
	if err := json.Unmarshal([]byte(text), &report); err != nil || len(report.Metrics.Ratio) == 0 {
		n.t.Fatalf("%v in\n%s", err, text)
	}
	for k, ratio := range report.Metrics.Ratio {
		if !(ratio < 1) {
			n.t.Errorf("%d steps ahead, the error is %v of that of persistence", k+1, ratio)
		}
	}
}

// compound runs a line that is more than one program.
func (n *newcomer) compound(l readmeLine) {
	c, out := n.shell(n.ctx, l.line+l.more)
	n.expect(l, n.finish(l, c, out))
}

// compiled runs a line that needs a compiler, where there is one.
func (n *newcomer) compiled(l readmeLine) {
	if !n.compiles {
		n.t.Logf("left to TestReadme_InAFreshClone: %s", l.line)
		return
	}
	n.compound(l)
}

// repeat runs a line until its output is what the line wants.
func (n *newcomer) repeat(l readmeLine) {
	for {
		c, output := n.program(n.ctx, l.line+l.more)
		out := n.finish(l, c, output)
		if !slices.ContainsFunc(l.want, func(want string) bool { return !regexp.MustCompile(want).MatchString(out) }) {
			return
		}
		if n.ctx.Err() != nil {
			n.t.Fatalf("%s: not all of %q are in\n%s", l.line, l.want, out)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// serve starts a program that runs until the end of the test, and waits until it is ready.
func (n *newcomer) serve(l readmeLine) {
	n.t.Helper()
	c, out := n.program(context.Background(), l.line+l.more)
	if err := c.Start(); err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() {
		_ = c.Process.Signal(os.Interrupt) // it may have ended
		if err := c.Wait(); err != nil {
			n.t.Errorf("%s: %v\n%s", l.line, err, out)
		}
	})
	ready := regexp.MustCompile(l.want[0])
	await(n.t, func() bool { return ready.MatchString(out.String()) })
	if address := ready.FindString(out.String()); strings.HasPrefix(address, "nats://") {
		n.url = address
	}
}

// serveTwo starts a program twice.
func (n *newcomer) serveTwo(l readmeLine) {
	n.serve(l)
	n.serve(l)
}

// python runs a line with a Python that has numpy; where there is none, it says so.
func (n *newcomer) python(l readmeLine) {
	for _, program := range []string{"python3", "/usr/bin/python3"} {
		c, _ := n.program(n.ctx, program+" -c 'import numpy'")
		if c.Run() != nil {
			continue
		}
		l.more = ""
		c, out := n.program(n.ctx, strings.Replace(l.line, "python3", program, 1))
		n.expect(l, n.finish(l, c, out))
		return
	}
	n.t.Logf("NOT TESTED: %s, for there is no numpy", l.line)
}

// export sets a variable for the lines that follow: the broker of the test has a port of its own.
func (n *newcomer) export(l readmeLine) {
	n.environ = append(n.environ, strings.Replace(strings.TrimPrefix(l.line, "export "), "nats://127.0.0.1:4222", n.url, 1))
}

// inContainers looks for the line in the script that runs it where a Docker engine answers.
func (n *newcomer) inContainers(l readmeLine) {
	script, err := os.ReadFile("../deploy/compose_test.sh")
	if err != nil {
		n.t.Fatal(err)
	}
	if !strings.Contains(string(script), "readme '"+l.line+"'") {
		n.t.Errorf("deploy/compose_test.sh does not run %s", l.line)
	}
}
