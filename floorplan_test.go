package switchyard

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// floorplan says who may import whom: "a: b c" lets package a import the packages b
// and c of this module. a/* stands for the packages right below a that have no line of
// their own, as an importer, and for all of them, as an import. The lower floors know
// nothing of the upper ones; autodiff knows no model, environments know neither, the
// coordinator sees vectors only.
//
// Do not change this table to make a build pass: a new arrow is a decision.
const floorplan = `
autodiff/kernel:
autodiff:              autodiff/kernel
rng:                   autodiff/kernel

envs:                  internal/setting rng
envs/*:                autodiff/kernel envs envs/planar rng
envs/files:            envs envs/files/array internal/terminal rng
envs/files/array:
envs/planar:

model:                 autodiff autodiff/kernel internal/matrix internal/setting rng
model/*:               autodiff autodiff/kernel internal/matrix model model/statespace rng
model/statespace:      autodiff internal/matrix model rng
model/categorical:     autodiff autodiff/kernel internal/matrix model model/arhmm model/statespace rng
model/slds:            autodiff autodiff/kernel model model/categorical model/statespace rng
model/gibbs:           autodiff internal/matrix model model/arhmm rng

eval:                  envs envs/fhn envs/files internal/matrix internal/terminal model model/arhmm rng
eval/figure:           envs envs/files envs/planar eval internal/disk

sweep:                 internal/disk rng

internal/matrix:
internal/setting:
internal/vector:       autodiff/kernel rng
config:                envs envs/* internal/setting model model/* rng
internal/disk:
store/checkpoint:      internal/disk
store:                 config internal/disk internal/setting internal/vector
internal/terminal:
internal/admission:
web:                   eval internal/admission store
wire:                  autodiff/kernel internal/setting
wire/shm:
cluster:               internal/admission internal/disk internal/setting wire
lead:                  autodiff/kernel cluster config coordinator internal/disk internal/scaling internal/setting internal/terminal internal/vector lab/fault lead/job model ops store store/checkpoint web wire wire/shm worker
ops:                   internal/disk store
internal/scaling:      internal/terminal rng
lab/bench:             autodiff/kernel coordinator export internal/disk internal/scaling internal/terminal internal/vector serving trained wire wire/shm worker
lab/fault:             internal/disk rng wire worker
lab/chaos:             cluster lab/fault rng store store/checkpoint

worker:                autodiff autodiff/kernel envs envs/files internal/setting internal/vector model rng wire wire/shm
coordinator/trust:     autodiff/kernel internal/vector wire
coordinator/exchange:  autodiff/kernel internal/scaling internal/vector wire
coordinator:           autodiff/kernel coordinator/exchange coordinator/trust internal/disk internal/scaling internal/vector store/checkpoint wire wire/shm

lead/job:              autodiff/kernel config coordinator envs/files eval internal/setting internal/terminal internal/vector model store trained wire worker
trained:               config envs envs/files envs/files/array eval eval/figure export internal/disk internal/matrix internal/terminal internal/vector lead/job model rng store store/checkpoint
paper:                 config coordinator eval eval/figure internal/terminal lead lead/job store store/checkpoint trained
export:                envs/files envs/files/array model store/checkpoint
sweep/fit:             config envs/files eval internal/disk internal/terminal lead lead/job model/arhmm store sweep sweep/trials trained
sweep/trials:          config coordinator eval internal/disk internal/setting lead lead/job ops rng store store/checkpoint sweep trained web
serving:               envs/files eval internal/admission trained

switchyard:            config coordinator envs envs/files eval export internal/terminal lead lead/job model rng serving store store/checkpoint sweep sweep/fit sweep/trials trained web
cmd:                   *
cmd/switchyard:        cmd config
`

// outside says which packages alone may import a dependency. One that is not listed
// here is free to all.
var outside = []struct {
	dependency string
	packages   []string
}{
	{"github.com/nats-io/nats.go", []string{"cluster", "ops", "serving"}},
	{"github.com/nats-io/nats-server", []string{"cluster"}},
	{"github.com/vmihailenco/msgpack", []string{"wire"}},
	{"github.com/goccy/go-yaml", []string{"config"}},
	{"github.com/prometheus/client_golang", []string{"web"}},
	{"github.com/spf13/cobra", []string{"cmd"}},
	{"golang.org/x/term", []string{"cmd", "internal/terminal"}},
	{"gonum.org/v1/plot", []string{"eval/figure"}},
	{"gonum.org/v1/gonum", []string{"eval", "model/modeltest"}},
	{"flag", []string{"cmd"}},
	{"log", []string{"cmd"}},
	{"math/rand", nil},
	{"os/exec", []string{"lab/chaos"}},
	{"unsafe", []string{"autodiff/kernel", "wire"}},
	{"C", nil},
}

// topLevel are the folders with code that a newcomer meets.
var topLevel = []string{
	"autodiff", "cluster", "cmd", "config", "coordinator", "deploy", "docs", "envs", "eval", "export", "internal", "lab", "lead", "model", "ops",
	"paper", "rng", "serving", "store", "sweep", "tools", "trained", "web", "wire", "worker",
}

type goPackage struct {
	ImportPath, Dir, Name, Doc string
	GoFiles, IgnoredGoFiles    []string
	TestGoFiles, XTestGoFiles  []string
	Imports                    []string
	Module                     struct{ Path string }
}

// name is the path of the package below the module; that of the root is the name of the package.
func (p goPackage) name() string {
	if p.ImportPath == p.Module.Path {
		return p.Name
	}
	return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, p.Module.Path), "/")
}

func listPackages(t *testing.T) []goPackage {
	t.Helper()
	command := exec.Command("go", "list", "-json=ImportPath,Dir,Name,Doc,GoFiles,IgnoredGoFiles,TestGoFiles,XTestGoFiles,Imports,Module", "./...")
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var packages []goPackage
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

// floorPlan are the imports that each line allows.
type floorPlan map[string][]string

// line is the line of a package: its own, or that of its neighbours.
func (f floorPlan) line(name string) (imports []string, line string) {
	if imports, ok := f[name]; ok {
		return imports, name
	}
	line = path.Dir(name) + "/*"
	return f[line], line
}

// allowed are the imports of a package; false if it has no line.
func (f floorPlan) allowed(name string) ([]string, bool) {
	imports, line := f.line(name)
	_, ok := f[line]
	return imports, ok
}

func parsePlan(t *testing.T) floorPlan {
	t.Helper()
	plan := floorPlan{}
	for line := range strings.Lines(floorplan) {
		name, imports, found := strings.Cut(strings.TrimSpace(line), ":")
		if name == "" {
			continue
		}
		if _, twice := plan[name]; twice || !found {
			t.Fatalf("the floor plan has a bad line: %q", line)
		}
		plan[name] = strings.Fields(imports)
	}
	return plan
}

func TestFloorplan_WhoImportsWhom(t *testing.T) {
	plan := parsePlan(t)
	packages := listPackages(t)
	for _, p := range packages {
		allowed, known := plan.allowed(p.name())
		if !known {
			t.Errorf("package %s is not on the floor plan: decide what it may import, add a line to floorplan in floorplan_test.go", p.name())
			continue
		}
		for _, fault := range faults(p, allowed) {
			t.Error(fault)
		}
	}
	for name := range plan {
		if !slices.ContainsFunc(packages, func(p goPackage) bool { _, line := plan.line(p.name()); return line == name }) {
			t.Errorf("the floor plan has %s, which is no package's line: remove it", name)
		}
	}
}

// TestArchitecture_HasEveryPackage: the table of docs/architecture.md names each package once, and nothing that is not
// there.
func TestArchitecture_HasEveryPackage(t *testing.T) {
	page, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]int{}
	for line := range strings.Lines(string(page)) {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		column := strings.Split(line, "|")[1]
		for i, word := range strings.Split(column, "`") {
			if i%2 == 1 {
				named[word]++
			}
		}
	}
	for _, p := range listPackages(t) {
		if named[p.name()] != 1 {
			t.Errorf("docs/architecture.md names package %s %d times: its table has one row for each", p.name(), named[p.name()])
		}
		delete(named, p.name())
	}
	for name := range named {
		t.Errorf("docs/architecture.md has %s, which is no package", name)
	}
}

// faults lists the imports of p that the plan does not allow.
func faults(p goPackage, allowed []string) []string {
	var list []string
	for _, imported := range p.Imports {
		if ours, ok := strings.CutPrefix(imported, p.Module.Path+"/"); ok {
			if !slices.Contains(allowed, "*") && !slices.Contains(allowed, ours) && !slices.Contains(allowed, path.Dir(ours)+"/*") {
				list = append(list, fmt.Sprintf("%s imports %s: the floor plan does not allow it; move the code to where both may know it", p.name(), ours))
			}
			continue
		}
		for _, o := range outside {
			within := imported == o.dependency || strings.HasPrefix(imported, o.dependency+"/")
			if within && !slices.Contains(o.packages, p.name()) {
				list = append(list, fmt.Sprintf("%s imports %s: only %v may", p.name(), imported, o.packages))
			}
		}
	}
	return list
}

func TestFaults(t *testing.T) {
	p := goPackage{ImportPath: "m/envs", Imports: []string{"fmt", "m/model", "m/rng", "log", "log/slog", "github.com/nats-io/nats.go/jetstream", "github.com/nats-io/nats.gopher"}}
	p.Module.Path = "m"
	if got := faults(p, []string{"rng"}); len(got) != 4 {
		t.Errorf("got %d faults, want model, log, log/slog and nats.go: %q", len(got), got)
	}
	if got := faults(p, []string{"*"}); len(got) != 3 {
		t.Errorf("got %d faults, want log, log/slog and nats.go: %q", len(got), got)
	}
	p = goPackage{ImportPath: "m/config", Imports: []string{"m/envs", "m/envs/maze", "m/envs/files/array"}}
	p.Module.Path = "m"
	if got := faults(p, []string{"envs/*"}); len(got) != 2 {
		t.Errorf("got %d faults, want envs and envs/files/array: %q", len(got), got)
	}
}

func TestPackages_SayWhatTheyAreFor(t *testing.T) {
	for _, p := range listPackages(t) {
		want := "Package " + p.Name + " "
		if p.Name == "main" {
			want = "Command "
			if p.Doc != "" {
				want = strings.SplitAfter(p.Doc, " ")[0] // any sentence will do
			}
		}
		if !strings.HasPrefix(p.Doc, want) {
			t.Errorf("package %s has no doc comment that begins with %q", p.name(), want)
		}
	}
}

// TestProcess_IsReadInOnePlace: what a library does depends on its arguments, so that a run's configuration tells the
// whole story. What the commands do depends on what Main hands them, so that a test can be their process.
func TestProcess_IsReadInOnePlace(t *testing.T) {
	for _, p := range listPackages(t) {
		if p.Name == "main" {
			continue
		}
		for _, file := range append(p.GoFiles, p.IgnoredGoFiles...) {
			if strings.HasSuffix(file, "_test.go") || p.name() == "cmd" && file == "main.go" {
				continue
			}
			tree, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, file), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, use := range processUses(tree) {
				t.Errorf("%s/%s uses %s: only Main of cmd reads it, and hands it in", p.name(), file, use)
			}
		}
	}
}

// ofProcess are the doors of the process to the world outside.
var ofProcess = map[string][]string{
	"os":     {"Getenv", "LookupEnv", "Environ", "ExpandEnv", "Args", "Exit", "Stdin", "Stdout", "Stderr"},
	"signal": {"Notify", "NotifyContext"},
}

func processUses(tree *ast.File) []string {
	var uses []string
	ast.Inspect(tree, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		from, ok := selector.X.(*ast.Ident)
		if ok && slices.Contains(ofProcess[from.Name], selector.Sel.Name) {
			uses = append(uses, from.Name+"."+selector.Sel.Name)
		}
		return true
	})
	return uses
}

func TestTopLevel_StaysShort(t *testing.T) {
	for _, p := range listPackages(t) {
		folder, _, _ := strings.Cut(p.name(), "/")
		if !slices.Contains(topLevel, folder) && p.ImportPath != p.Module.Path {
			t.Errorf("folder %s: the top level has %v only; find its place below one of them", folder, topLevel)
		}
	}
}
