package cmd

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/internal/terminal"
)

var update = flag.Bool("update", false, "rewrite testdata/help")

// builtin are the kinds of this program. All command lines of the tests read the same ones.
var builtin = sync.OnceValue(func() *config.Kinds { return config.Builtin().Kinds() })

// buffer is an output that a test may read while the program writes.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// result is what a command line left behind.
type result struct {
	code     int
	out, err string
}

// cli is the program in a folder of its own.
type cli struct {
	t       *testing.T
	dir     string
	environ []string
	signals chan os.Signal
	stdin   string
	columns int // of a terminal for stdout and stderr; 0: there is none
}

func newCLI(t *testing.T) *cli {
	t.Helper()
	return &cli{t: t, dir: filepath.Join(t.TempDir(), "runs"), signals: make(chan os.Signal, 2)}
}

// run executes a command line; the folder of the runs is the test's.
func (c *cli) run(arguments ...string) result {
	c.t.Helper()
	var out, errs buffer
	a := &app{
		kinds: builtin(), in: strings.NewReader(c.stdin),
		environ: append([]string{"SWITCHYARD_RUNS_DIR=" + c.dir}, c.environ...),
		signals: c.signals, invoked: "switchyard", cores: 2,
	}
	if c.columns > 0 {
		a.terminal, a.width = true, func() int { return c.columns }
	}
	width := func() int { return c.columns }
	a.out, a.err = terminal.Fold(&out, width, a.invoked), terminal.Fold(&errs, width, a.invoked)
	code := a.run(arguments)
	return result{code, out.String(), errs.String()}
}

// must executes a command line that has to succeed.
func (c *cli) must(arguments ...string) result {
	c.t.Helper()
	r := c.run(arguments...)
	if r.code != exitOK {
		c.t.Fatalf("switchyard %s: exit code %d\n%s", strings.Join(arguments, " "), r.code, r.err)
	}
	return r
}

// write puts a file beside the folder of the runs and returns its path.
func (c *cli) write(name, text string) string {
	c.t.Helper()
	path := filepath.Join(filepath.Dir(c.dir), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		c.t.Fatal(err)
	}
	return path
}

func TestErrors_OneMessageAndTheRightCode(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	bad := c.write("bad.yaml", "optim:\n  rat: 1e-3\n")
	c.must("train", "noise/smoke", "--name", "taken", "--quiet", "train.steps=1")
	for _, test := range []struct {
		line string
		code int
		want []string // parts of what is written to stderr
	}{
		{"trian fhn", exitUsage, []string{`unknown command "trian"`, "did you mean train?"}},
		{"runs lst", exitUsage, []string{`unknown command "lst" for switchyard runs`, "did you mean ls?"}},
		{"train fhn --wokers 2", exitUsage, []string{"unknown flag: --wokers", "did you mean --workers?"}},
		{"train fhn --workers two", exitUsage, []string{"invalid argument", "--help lists the flags"}},
		{"train fhn --workers 0", exitUsage, []string{"at least one"}},
		{"train", exitUsage, []string{"needs a PRESET or FILE.yaml"}},
		{"train optim.rate=1", exitUsage, []string{"needs a preset or a file", "train fhn optim.rate=1"}},
		{"train my.csv", exitUsage, []string{"my.csv is no preset", "train files env.files=my.csv"}},
		{"train fnh", exitUsage, []string{`unknown preset "fnh"`, "did you mean fhn?"}},
		{"train fhn optim.lr=1", exitUsage, []string{"optim.lr: unknown key", "did you mean optim.rate?"}},
		{"train fhn train.shards=3", exitUsage, []string{"not a power of two", "2 or 4"}},
		{"train fhn fhn/smoke", exitUsage, []string{"expected key=value"}},
		{"train missing.yaml", exitUsage, []string{"missing.yaml", "no such file"}},
		{"train " + bad, exitUsage, []string{"bad.yaml:2:3: optim.rat: unknown key", "|   ^"}},
		{"config check " + bad, exitUsage, []string{"bad.yaml:2:3"}},
		{"config show fhn model.switching=x", exitUsage, []string{`unknown value "x"`, "concrete or normal"}},
		{"train noise/smoke --name taken", exitUsage, []string{"run name is taken", "switchyard resume taken", "another --name"}},
		{"train noise/smoke --name a/b", exitUsage, []string{"not a run name"}},
		{"completion nosuch", exitUsage, []string{"unknown command", "bash, fish, powershell, zsh"}},
		{"resume takn", exitUsage, []string{"no such run", "did you mean taken?"}},
		{"resume", exitUsage, []string{"takes 1 argument, NAME; got 0"}},
		{"eval taken --protocol fhn", exitUsage, []string{`no protocol "fhn" for env.kind=noise`, "it has ahead"}},
		{"eval taken --checkpoint first", exitUsage, []string{"best or last"}},
		{"runs show nothing_like_it", exitUsage, []string{"no such run", "runs ls"}},
		{"version --log-format xml", exitUsage, []string{"text or json"}},
		{"train noise/smoke --dry-run --workers 1001", exitUsage, []string{"--workers 1001: at most 1000"}},
		{"sweep -m noise/smoke seed=1 optim.rate=1e-3,1e-2 --dry-run --workers 1001", exitUsage, []string{"--workers 1001: at most 1000"}},
		{"fit none.csv --workers 1001", exitUsage, []string{"--workers 1001: at most 1000"}},
		{"verify none --workers 1001", exitUsage, []string{"--workers 1001: at most 1000"}},
		{"diff none none --workers 1001", exitUsage, []string{"--workers 1001: at most 1000"}},
		{"bench sweep --workers 1001 --trials 1 --steps 9", exitUsage, []string{"--workers 1001: at most 1000"}},
		{"bench wire noise --threads 1001", exitUsage, []string{"--threads 1001: at most 1000"}},
		{"bench sweep --stop never", exitUsage, []string{"error: --stop never: must be halving, "}},
		{"bench sweep --preset nosie", exitUsage, []string{"error: --preset nosie: there is no such preset"}},
		{"train noise/smoke --dry-run --web none --web-token-file token", exitUsage, []string{"--web-token-file token: has no effect without a page"}},
		{"health --url http://127.0.0.1:1/healthz --file well", exitUsage, []string{"--url means nothing with --file"}},
		{"version --quiet --verbose", exitUsage, []string{"cannot be combined"}},
		{"bench kernels --only mm", exitUsage, []string{"--only mm: no such operation; there are nn, nt, tn"}},
		{"train noise/smoke --listen nonsense", exitUsage, []string{"--listen nonsense", "missing port"}},
	} {
		r := c.run(strings.Fields(test.line)...)
		if r.code != test.code {
			t.Errorf("%s: exit code %d, want %d\n%s", test.line, r.code, test.code, r.err)
		}
		for _, want := range test.want {
			if !strings.Contains(r.err, want) {
				t.Errorf("%s: %q is missing in\n%s", test.line, want, r.err)
			}
		}
		if n := strings.Count(r.err, "error: "); n != 1 {
			t.Errorf("%s: %d errors are reported, want 1\n%s", test.line, n, r.err)
		}
		for _, noise := range []string{"Usage:", "goroutine ", ".go:"} {
			if strings.Contains(r.err+r.out, noise) {
				t.Errorf("%s: %q in\n%s", test.line, noise, r.err)
			}
		}
	}
}

func TestEnvironment_SetsKeysAndKernels(t *testing.T) {
	t.Cleanup(func() {
		if err := kernel.Use(kernel.Best()); err != nil {
			t.Error(err)
		}
	})
	c := newCLI(t)
	c.environ = []string{"SWITCHYARD_OPTIM_RATE=0.25", "SWITCHYARD_ISA=portable", "SWITCHYARD_SERVICE_HOST=10.0.0.1"}
	if r := c.must("config", "show"); !strings.Contains(r.out, "rate: 0.25") || !strings.Contains(r.out, "set by SWITCHYARD_OPTIM_RATE") {
		t.Errorf("the environment is not heard:\n%s", r.out)
	}
	if r := c.must("version"); !strings.Contains(r.out, "portable kernels") {
		t.Errorf("got %s", r.out)
	}
	c.environ = []string{"SWITCHYARD_ISA=avx1024"}
	if r := c.run("version"); r.code != exitUsage || !strings.Contains(r.err, "SWITCHYARD_ISA=avx1024") {
		t.Errorf("exit code %d: %s", r.code, r.err)
	}
	c.environ = []string{"SWITCHYARD_OPTIM_RAET=1"}
	if r := c.run("config", "show"); r.code != exitUsage || !strings.Contains(r.err, "did you mean SWITCHYARD_OPTIM_RATE?") {
		t.Errorf("exit code %d: %s", r.code, r.err)
	}
}

func TestConfig_ShowIsAConfiguration(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	shown := c.must("config", "show", "noise/maze", "seed=7", "model.switching=normal").out
	path := c.write("shown.yaml", shown)
	if r := c.must("config", "check", path); !strings.Contains(r.out, "shown.yaml: ok") {
		t.Errorf("got %s", r.out)
	}
	again := c.must("config", "show", path).out
	for _, want := range []string{"seed: 7", "switching: normal", "preset: noise/maze"} {
		if !strings.Contains(again, want) {
			t.Errorf("%q is missing in\n%s", want, again)
		}
	}
	if r := c.must("config", "schema"); !strings.HasPrefix(r.out, "{") {
		t.Errorf("got %s", r.out)
	}
}

func TestTrain_DryRunDoesNothing(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	r := c.must("train", "noise/smoke", "seed=3", "--dry-run", "--workers", "3")
	for _, want := range []string{"none: a dry run (preset noise/smoke, seed 3)", "parameters in", "GFLOP", "3 here, 1 slot each", "10 steps", "seed: 3"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("%q is missing in\n%s", want, r.out)
		}
	}
	if _, err := os.Stat(c.dir); !os.IsNotExist(err) {
		t.Errorf("the folder of the runs was touched: %v", err)
	}
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.must("train", "noise/smoke", "--name", "done", "--quiet", "train.steps=1")
	table := c.write("table.csv", "day,clock,speed,volt\n1,8:00,0.5,1\n")
	for _, test := range []struct {
		words      []string
		have, lack []string
	}{
		{[]string{"train", ""}, []string{"fhn\t", "fhn/smoke\t", "noise/maze\t"}, []string{"optim."}},
		{[]string{"train", "fhn", ""}, []string{"optim.\t", "seed=\t", "model.\t"}, []string{"fhn/smoke", "preset="}},
		{[]string{"train", "fhn", "optim."}, []string{"optim.rate=\tlearning rate", "optim.clip="}, []string{"model.", "seed="}},
		{[]string{"train", "fhn", "model.switching="}, []string{"model.switching=concrete", "model.switching=normal"}, []string{"model.weights"}},
		{[]string{"config", "show", "fhn", "model.gate="}, []string{"model.gate=true", "model.gate=false"}, nil},
		{[]string{"resume", ""}, []string{"done\tfinished"}, nil},
		{[]string{"eval", ""}, []string{"done\t"}, nil},
		{[]string{"eval", "--protocol", ""}, []string{"fhn\t", "table1\t", "pixels\t"}, nil},
		{[]string{"eval", "done", "--protocol", ""}, []string{"table1\t"}, []string{"fhn", "pixels"}},
		{[]string{"runs", "show", ""}, []string{"done\t"}, nil},
		{[]string{"ru"}, []string{"runs\t"}, []string{"train"}},
		{[]string{"data", "info", table, "--observe", ""}, []string{"speed\n", "volt\n", ":6"}, nil},
		{[]string{"data", "info", table, "--observe", "speed,"}, []string{"speed,volt\n"}, []string{"speed,speed"}},
		{[]string{"data", "show", table, "--time", "day,"}, []string{"day,clock\n"}, nil},
		{[]string{"data", "convert", table, "--id", "day,"}, []string{"day,clock\n"}, nil},
		{[]string{"data", "info", table, "--rename", ""}, []string{"speed=\n"}, nil},
		{[]string{"data", "info", c.dir + "/none.csv", "--observe", ""}, []string{":6"}, []string{"speed"}},
		{[]string{"forecast", "done", "--data", table, "--control", ""}, []string{"volt\n"}, nil},
		{[]string{"forecast", "done", "--control", ""}, []string{":6"}, []string{"done"}},
		{[]string{"train", "files", "env.files=" + table, "env.observe=speed,"}, []string{"env.observe=speed,volt\n"}, nil},
		{[]string{"train", "files", "env.observe="}, []string{":6"}, []string{"speed"}},
	} {
		r := c.must(append([]string{"__complete"}, test.words...)...)
		for _, want := range test.have {
			if !strings.Contains(r.out, want) {
				t.Errorf("%q: %q is missing in\n%s", test.words, want, r.out)
			}
		}
		for _, not := range test.lack {
			if strings.Contains(r.out, not) {
				t.Errorf("%q: %q is offered in\n%s", test.words, not, r.out)
			}
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if r := c.must("completion", shell); !strings.Contains(r.out, "switchyard") {
			t.Errorf("completion %s prints %q", shell, r.out)
		}
	}
}

func TestHelp_Golden(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"", "train", "resume", "eval", "paper", "report", "runs", "runs ls", "runs show", "runs stop", "coordinator", "submit", "verify", "diff", "config", "config show", "config check", "config schema", "data", "data info", "data generate", "data convert", "data show", "init", "broker", "serve", "health", "worker", "version"} {
		a := &app{kinds: builtin(), invoked: "switchyard", cores: 2}
		var out buffer
		a.out, a.err = &out, &out
		if code := a.run(append(strings.Fields(line), "--help")); code != exitOK {
			t.Errorf("%s --help: exit code %d", line, code)
		}
		path := filepath.Join("testdata", "help", strings.ReplaceAll("switchyard "+line, " ", "_")+".txt")
		if *update {
			if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if out.String() != string(want) {
			t.Errorf("%s --help: got\n%s\nwant\n%s", line, out.String(), want)
		}
	}
}

func TestInvocation(t *testing.T) {
	t.Parallel()
	built := &debug.BuildInfo{Path: "example.org/m/cmd/switchyard", Main: debug.Module{Path: "example.org/m"}}
	for path, want := range map[string]string{
		"switchyard":                                 "switchyard",
		"./switchyard":                               "./switchyard",
		"/opt/bin/switchyard":                        "/opt/bin/switchyard",
		"/opt/my bin/switchyard":                     "'/opt/my bin/switchyard'",
		"/tmp/go-build123/b001/exe/switchyard":       "go run ./cmd/switchyard",
		"/home/me/.cache/go-build/ab/x-d/switchyard": "go run ./cmd/switchyard",
	} {
		if got := invocation(path, built); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
	built.Path = built.Main.Path
	if got, want := invocation("/tmp/go-build123/b001/exe/m", built), "go run ."; got != want {
		t.Errorf("a program in the root of its module: got %s, want %s", got, want)
	}
}
