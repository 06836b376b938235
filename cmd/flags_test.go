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

	"github.com/switchyard-ml/switchyard/internal/registry"
)

// flagLines are command lines for the flags that no other test runs. DATA are recordings, ONE is one of them, and OUT a
// folder; the run own is trained on DATA, and smoke on fhn/smoke.
var flagLines = []string{
	"init --dir OUT/keys --readable --hand-out worker=OUT/handed",
	"version --no-color",
	"--runs-dir OUT/none runs ls --json",
	"diff smoke smoke --json --workers 1",
	"resume smoke --slots 2 --workers 1 --listen 127.0.0.1:0",
	"bench kernels --json --samples 1",
	"bench wire noise/smoke --steps 1 --turns 1 --threads 1 --cpuprofile OUT/profile",
	"bench scale fhn/smoke --one-machine --workers 1,2",
	"bench scale fhn/smoke --workers-per-machine 2 --workers 1,2",
	"resume smoke --keys OUT/keys --listen 127.0.0.1:0",
	"resume smoke --listen-http 127.0.0.1:0",
	"train fhn/smoke --name shown --listen-http 127.0.0.1:0",
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
	"smooth own --part test --seed 3 --checkpoint last",
	"export own --checkpoint last --out OUT/export",
	"bench serve own --duration 50ms --clients 2 --cores 1",
	"data info TABLE READ --transform speed=diff",
	"data convert TABLE OUT/table.npz READ",
	"data show TABLE READ --out OUT/table",
	"man --out OUT/man",
	"runs export own --to csv --out OUT/own.csv",
	"runs export own --to tensorboard --out OUT/tb",
}

// elsewhere are flags that need processes that live for a while, and why no command line here has them.
var elsewhere = map[string]string{
	"switchyard chaos --keep":          "TestChaos_SameBits leaves its folder to a temporary one",
	"switchyard serve --history":       "the limits of serving are tested in its package",
	"switchyard serve --max-clients":   "the limits of serving are tested in its package",
	"switchyard sweep extend --trials": "the engine of package sweep is tested with it",
	"switchyard worker --health-file":  "a worker touches the file once a second, while it lives",
}

// sharedFlags are pieces of code that several commands have: the flags of a connection, which the tests of secrets run,
// and those by which a search trains, which are train's.
var sharedFlags = []string{
	"nats", "nkey", "tls-ca",
	"keys", "listen", "slots", "web", "web-token-file", "workers", "sweeps-dir", "multirun",
}

// TestFlags_EachIsUsed runs flagLines, and fails for a flag of any command that neither they nor the command lines of the
// other tests of this package have.
func TestFlags_EachIsUsed(t *testing.T) {
	c := newCLI(t)
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
		lines[i] = strings.ReplaceAll(lines[i], "READ", "--observe position,speed --control force --label touch --time when --id who --resample 1 --dt 1")
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
	others := commandTexts(t)
	for _, f := range allFlags() {
		command, name, _ := strings.Cut(f, " --")
		if !used[f] && elsewhere[f] == "" && !slices.Contains(sharedFlags, name) && !mentioned(others, command, name) {
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
	a := &app{kinds: registry.Builtin().Kinds(), out: &buffer{}, err: &buffer{}, invoked: "switchyard", cores: 1}
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
