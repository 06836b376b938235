package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagLines are command lines for the flags that no other test runs. DATA are recordings, ONE is one of them, and OUT a
// folder; the run own is trained on DATA, and smoke on fhn/smoke.
var flagLines = []string{
	"init --dir OUT/keys --readable --hand-out worker=OUT/handed",
	"version --no-color",
	"--runs-dir OUT/none runs ls --json",
	"diff smoke smoke --json --workers 1",
	"resume smoke --slots 2 --workers 1 --listen 127.0.0.1:0",
	"bench kernels --json --samples 1 --only exp",
	"bench wire noise/smoke --steps 1 --turns 1 --threads 1 --cpuprofile OUT/profile --trace OUT/steps.json",
	"bench scale fhn/smoke --one-machine --workers 1,2",
	"bench scale fhn/smoke --workers-per-machine 2 --workers 1,2",
	"bench scale fhn/smoke cluster.exchange=sharded --servers --workers 1,2",
	"resume smoke --keys OUT/keys --listen 127.0.0.1:0",
	"resume smoke --web 127.0.0.1:0",
	"train fhn/smoke --name shown --web 127.0.0.1:0",
	"train fhn/smoke --name former --listen-http 127.0.0.1:0",
	"data info DATA --controls-after --limit 100000000 --dt 0.1",
	"data convert ONE OUT/convert.npz --controls-after --limit 100000000 --cut 12",
	"data show DATA --controls-after --limit 100000000 --cut 12 --dt 0.1 --rename y_speed=y_pace --out OUT/show",
	"data show fhn --seed 3 --length 20 --episodes 1 --out OUT/simulated",
	"completion bash --no-descriptions",
	"completion fish --no-descriptions",
	"completion powershell --no-descriptions",
	"completion zsh --no-descriptions",
	"forecast own --samples 3 --part test --seed 3 --checkpoint last --horizon 2",
	"backtest own --horizon 2 --prefix 6 --stride 4 --season 3 --seed 3 --checkpoint last --json --out OUT/backtest.csv",
	"simulate own --episodes 2 --steps 5 --seed 3 --checkpoint last",
	"filter own --part test --seed 3 --checkpoint last",
	"linearize own --part test --seed 3 --checkpoint last",
	"segment own --part test --seed 3 --checkpoint last",
	"smooth own --part test --checkpoint last",
	"export own --checkpoint last --out OUT/export",
	"bench serve own --duration 50ms --clients 2 --forecasts 1 --cores 1",
	"data info TABLE READ --transform speed=diff",
	"fit TABLE READ --transform speed=diff --dry-run --name table",
	"fit DATA --controls-after --limit 100000000 --dt 0.1 --dry-run --name several",
	"data convert TABLE OUT/table.npz READ",
	"data show TABLE READ --out OUT/table",
	"man --out OUT/man",
	"sweep submit --multirun noise/smoke optim.rate=1e-3,1e-2 --dry-run --nats nats://127.0.0.1:1",
	"sweep --multirun noise/smoke optim.rate=1e-3,1e-2 --dry-run --name grid",
	"train noise/smoke train.steps=2 --name plain --tensorboard=false --quiet",
	"resume plain --tensorboard=false",
	"runs prune --dry-run --sweeps-dir OUT/sweeps --older-than 1w",
	"runs export own --to csv --out OUT/own.csv",
	"runs label own --tag good --untag bad --note why --archive",
	"runs label own --restore",
	"runs export own --to tensorboard --out OUT/tb",
}

// sharedFlags are flags that many commands share, with a value that none of them takes, what else has to be said for it to
// be looked at, and what is complained about.
var sharedFlags = map[string]struct{ value, with, want string }{
	"nats":           {"http://127.0.0.1:1", "", "is not the address of a broker"},
	"nkey":           {"OUT/none.nk", "--nats nats://127.0.0.1:1", "none.nk"},
	"tls-ca":         {"OUT/none.pem", "--nats nats://127.0.0.1:1", "none.pem"},
	"keys":           {"OUT/none", "--listen 127.0.0.1:0", "none"},
	"listen":         {"nonsense", "", "nonsense"},
	"cluster":        {"nonsense", "--listen 127.0.0.1:0", "nonsense"},
	"cluster-seed":   {"x://a", "--cluster 127.0.0.1:0 --listen 127.0.0.1:0", "x://a"},
	"slots":          {"-1", "", "-1"},
	"web":            {"nonsense", "", "nonsense"},
	"web-token-file": {"OUT/none", "", "none"},
	"workers":        {"-1", "", "-1"},
	"sweeps-dir":     {"OUT/none", "", "none"},
	"shared-memory":  {"nonsense", "", "nonsense"},
}

// sharedArguments are what commands are asked about when a shared flag is wrong; of the others, nothing.
var sharedArguments = map[string]string{
	"train": "noise/smoke", "resume": "halted", "submit": "noise/smoke", "verify": "smoke", "diff": "smoke smoke", "chaos": "noise/smoke", "bench scale": "noise/smoke",
	"runs show": "x", "runs stop": "x", "ban": "UDXU4RCSJNZO", "unban": "UDXU4RCSJNZO", "serve": "",
	"sweep": "-m noise/smoke optim.rate=1e-3,1e-2", "sweep show": "x", "sweep best": "x", "sweep stop": "x", "sweep pause": "x", "sweep resume": "x",
	"sweep extend": "x --trials 1", "fit": "ONE", "sweep submit": "-m noise/smoke optim.rate=1e-3,1e-2",
}

// refused runs every command that has a shared flag with the wrong value of it.
func refused(c *cli, out string, used map[string]bool) {
	for _, f := range allFlags() {
		path, name, _ := strings.Cut(f, " --")
		shared, ok := sharedFlags[name]
		command := strings.TrimPrefix(path, "switchyard ")
		if !ok || command == "chaos" && name == "workers" {
			continue
		}
		line := command + " " + sharedArguments[command] + " --" + name + "=" + shared.value + " " + shared.with
		switch {
		case name == "web-token-file" && (command == "train" || command == "resume"):
			line += " --web 127.0.0.1:0"
		case name == "keys" && command == "doctor" || name == "keys" && command == "broker":
			line = command + " --keys=" + shared.value
		case command == "serve" && name == "nats" || command == "serve" && shared.with != "":
			line += " --model smoke --web none"
		case command == "sweep" && name == "sweeps-dir":
			line = "sweep show x --sweeps-dir=OUT/none"
		case name == "sweeps-dir":
			continue // serve, coordinator and prune begin with an empty one
		case command == "sweep extend" && (name == "keys" || name == "listen" || strings.HasPrefix(name, "cluster") || name == "slots" || name == "workers" || name == memoryName || strings.HasPrefix(name, "web")):
			line = strings.Replace(line, "extend x", "extend rates", 1)
		case command == "worker" && (name == "keys" || name == "listen"):
			line += " --cluster 127.0.0.1:0"
		case name == "slots" && command == "worker", strings.HasPrefix(name, "web") && command == "coordinator":
			line += " --nats nats://127.0.0.1:1"
		}
		used[f] = true
		arguments := strings.Fields(strings.ReplaceAll(line, "OUT", out))
		r := c.run(arguments...)
		if said := r.out + r.err; (r.code == exitOK && command != "doctor") || !strings.Contains(said, shared.want) {
			c.t.Errorf("%s: exit code %d, %q is missing in\n%s", line, r.code, shared.want, said)
		}
	}
}

// TestFlags_EachIsUsed runs flagLines, and fails for a flag of any command that neither they nor the command lines of the
// other tests of this package have.
func TestFlags_EachIsUsed(t *testing.T) {
	c, others := newCLI(t), commandTexts(t)
	data, out := filepath.Join(t.TempDir(), "data"), t.TempDir()
	writeTrajectories(t, data, 12)
	c.must("train", "fhn/smoke", "--name", "smoke", "--quiet")
	c.must(append([]string{"train", "files", "env.files=" + data, "--name", "own"}, small...)...)
	lines := slices.Clone(flagLines)
	for _, question := range []string{"forecast", "backtest", "filter", "linearize", "segment", "smooth"} {
		lines = append(lines, question+" own --data DATA --controls-after --limit 100000000 --dt 0.1 --cut 24", question+" own --in OTHER --rename speed=y_speed --json")
	}
	for _, question := range []string{"forecast", "backtest", "filter", "linearize", "segment", "smooth"} {
		lines = append(lines, question+" own --data TABLE READ")
	}
	lines = append(lines, "simulate own --in TABLE READ")
	lines = append(lines, "simulate own --in DATA --controls-after --limit 100000000 --dt 0.1 --cut 24", "simulate own --in OTHER --rename speed=y_speed")
	text, err := os.ReadFile(filepath.Join(data, "e03.csv"))
	if err != nil {
		t.Fatal(err)
	}
	other := c.write("other.csv", strings.Replace(string(text), "y_speed", "speed", 1))
	table := "when,who,position,speed,force,touch\n"
	for i := range 40 {
		table += fmt.Sprintf("%d,a,%d,%d,%d,%d\n", i, i%7, i%5, i%3, i%2)
	}
	tablePath := c.write("table.csv", table)
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], "READ", "--observe position,speed --control force --label touch --time when --id who --resample 1 --dt 1 --dates day-first")
	}
	places := strings.NewReplacer("TABLE", tablePath, "DATA", data, "ONE", filepath.Join(data, "e03.csv"), "OTHER", other, "OUT", out)
	used := map[string]bool{}
	for _, line := range lines {
		arguments := strings.Fields(line)
		note(t, used, arguments)
		for i := range arguments {
			arguments[i] = places.Replace(arguments[i])
		}
		if r := c.run(arguments...); r.code != exitOK {
			t.Errorf("%s: exit code %d\n%s", line, r.code, r.err)
		}
	}
	t.Chdir(t.TempDir())
	c.must("sweep", "-m", "noise/smoke", "seed=1", "optim.rate=1e-3,1e-2", "train.steps=2", "--name", "rates", "--web", "none", "--quiet")
	if r := c.interrupt("halted", "train", "noise/smoke", "--name", "halted", "train.steps=100000"); r.code != exitInterrupted {
		t.Fatalf("exit code %d", r.code)
	}
	refused(c, out, used)
	for _, f := range allFlags() {
		command, name, _ := strings.Cut(f, " --")
		if name == "json" { // TestEveryCommand reads it of every command
			continue
		}
		if !used[f] && !mentioned(others, command, name) {
			t.Errorf("no test runs %s --%s", command, name)
		}
	}
}

// note adds the flags of a command line as "command --flag".
func note(t *testing.T, used map[string]bool, arguments []string) {
	t.Helper()
	c, rest, err := flagTree().Find(arguments)
	if err != nil || c.ParseFlags(rest) != nil {
		t.Fatalf("%q: %v", arguments, err)
	}
	c.Flags().Visit(func(f *pflag.Flag) {
		of := c
		for of.HasParent() && of.NonInheritedFlags().Lookup(f.Name) == nil {
			of = of.Parent()
		}
		used[of.CommandPath()+" --"+f.Name] = true
	})
}

// flagTree is the tree of all commands, of which none is to be run.
func flagTree() *cobra.Command {
	a := &app{kinds: builtin(), out: &buffer{}, err: &buffer{}, invoked: "switchyard", cores: 1}
	root := a.rootCommand()
	addCompletion(root)
	return root
}

// allFlags are the flags of all commands.
func allFlags() []string {
	var list []string
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" {
				list = append(list, c.CommandPath()+" --"+f.Name)
			}
		})
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(flagTree())
	slices.Sort(list)
	return list
}

// commandTexts are the functions of the other tests of this package, one by one.
func commandTexts(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if path != "flags_test.go" {
			list = append(list, strings.Split(string(text), "\n}\n")...)
		}
	}
	return list
}

// mentioned reports whether a function has both the flag and the last word of the command that it belongs to, in strings.
func mentioned(texts []string, command, name string) bool {
	word := command[strings.LastIndexByte(command, ' ')+1:]
	flag := regexp.MustCompile("[\"` ]--" + regexp.QuoteMeta(name) + "[\"` =]")
	return slices.ContainsFunc(texts, func(text string) bool {
		return flag.MatchString(text) && (word == "switchyard" || strings.Contains(text, word))
	})
}

// TestFlags_NameWhatIsWrong: a number out of range is named alone, without the flags beside it that are right.
func TestFlags_NameWhatIsWrong(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	for line, want := range map[string]string{
		"fit x.csv --horizon -3":                        "--horizon -3: must be at least 0",
		"fit x.csv --workers 0":                         "--workers 0: must be at least 1",
		"fit x.csv --budget 0s":                         "--budget 0s: must be positive",
		"data info x.csv --dt -1":                       "--dt -1: must be positive",
		"data info x.csv --limit 0":                     "--limit 0: must be at least 1",
		"data generate fhn --length 1 --out x.csv":      "--length 1: must be at least 2",
		"data generate fhn --episodes -2 --out x.csv":   "--episodes -2: must be at least 1",
		"bench serve own --clients 0":                   "--clients 0: must be at least 1",
		"bench serve own --forecasts -1":                "--forecasts -1: must be at least 0",
		"bench serve own --duration 0s":                 "--duration 0s: must be positive",
		"serve --model own --max-clients 0":             "--max-clients 0: must be at least 1",
		"serve --model own --max-clients 1 --history 0": "--history 0: must be at least 1",
	} {
		if r := c.run(strings.Fields(line)...); r.code != exitUsage || !strings.Contains(r.err, want) ||
			strings.Count(r.err, "--") > 1 {
			t.Errorf("%s: code %d\n%s\nwant %s", line, r.code, r.err, want)
		}
	}
}
