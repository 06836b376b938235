// Command mutate breaks the tree in known ways, one at a time, and expects a test to fail each time:
//
//	go run ./.ci/mutate [-only ID] [-long] [-turn N]
//
// The mutations stand in .ci/mutations.txt, which says what each is. A mutated file lies in a temporary folder, and an
// overlay puts it in the place of the original, so the tree itself stays as it is. One line is printed for each
// mutation: which tests caught it, or that it ESCAPED, or does not compile, which is no catch. The exit status is 1
// unless all were caught. Mutations of the stage "long" are left out unless -long or -only asks for them. With -turn, only
// each seventh mutation is tried, from number N modulo seven on: seven turns in a row try all of them.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

const table = ".ci/mutations.txt"

// timeout ends a test that a mutation makes wait for ever. That is a catch, too.
const timeout = "120s"

// turns is how many turns try all mutations.
const turns = 7

func main() {
	only := flag.String("only", "", "the mutation of this `ID` alone")
	long := flag.Bool("long", false, "also the mutations that only tests of the stage long catch")
	turn := flag.Int("turn", -1, "only each seventh mutation, from number `N` modulo seven on")
	flag.Parse()
	caught, err := run(func(i int, m mutation) bool {
		switch {
		case *only != "":
			return m["id"] == *only
		case *turn >= 0 && i%turns != *turn%turns:
			return false
		}
		return *long || m["stage"] != "long"
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
	}
	if err != nil || !caught {
		os.Exit(1)
	}
}

// run tries the mutations that are wanted, by number and block of the table.
func run(wanted func(int, mutation) bool) (caught bool, err error) {
	text, err := os.ReadFile(table)
	if err != nil {
		return false, fmt.Errorf("read the table, from the root of the repository: %w", err)
	}
	tried, escaped := 0, 0
	for i, m := range parse(string(text)) {
		if !wanted(i, m) {
			continue
		}
		start := time.Now()
		v, err := m.try()
		if err != nil {
			return false, fmt.Errorf("mutation %s: %w", m["id"], err)
		}
		tried++
		if !v.caught {
			escaped++
		}
		fmt.Printf("%-22s %5.1f s  %s\n", m["id"], time.Since(start).Seconds(), v.text)
	}
	if tried == 0 {
		return false, errors.New("there is no such mutation")
	}
	fmt.Printf("%d mutations, %d of them not caught\n", tried, escaped)
	return escaped == 0, nil
}

// A mutation is a text of a file, what stands in its place, and who is to notice: a block of the table, by key. That
// all keys are there and fit the tree is what TestMutations_FitTheTree sees to.
type mutation map[string]string

// parse reads blocks of lines "key: value" with empty lines between them. Lines that begin with # are left out.
func parse(text string) []mutation {
	var list []mutation
	for block := range strings.SplitSeq(text, "\n\n") {
		m := mutation{}
		for line := range strings.Lines(block) {
			if key, value, _ := strings.Cut(line, ":"); !strings.HasPrefix(line, "#") {
				m[key] = strings.TrimSpace(value)
			}
		}
		if len(m) > 0 {
			list = append(list, m)
		}
	}
	return list
}

// verdict is what became of a mutation.
type verdict struct {
	caught bool
	text   string
}

// try runs the tests over the mutated file.
func (m mutation) try() (verdict, error) {
	folder, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return verdict{}, err
	}
	v, err := m.tryIn(folder)
	return v, errors.Join(err, os.RemoveAll(folder))
}

func (m mutation) tryIn(folder string) (verdict, error) {
	overlay, err := m.overlay(folder)
	if err != nil {
		return verdict{}, err
	}
	tests := strings.Fields(m["tests"])
	arguments := []string{
		"test", "-overlay", overlay, "-count=1", "-vet=off", "-timeout", timeout,
		"-run", "^(" + strings.Join(tests, "|") + ")$",
	}
	if m["stage"] == "long" {
		arguments = append(arguments, "-tags", "long")
	}
	output, err := exec.Command("go", append(arguments, m["package"])...).CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return verdict{false, "ESCAPED " + strings.Join(tests, ", ")}, nil
	case !errors.As(err, &exit):
		return verdict{}, fmt.Errorf("run go test: %w", err)
	case buildFails.Match(output) || !testFails.Match(output):
		return verdict{false, "does not compile, or does not run:\n" + string(output)}, nil
	}
	return verdict{true, "caught by " + failed(output)}, nil
}

// buildFails is what go test says of a package that does not compile, testFails what it says of one whose tests ran.
var (
	buildFails = regexp.MustCompile(`(?m)^FAIL\s.*\[(build|setup) failed\]$`)
	testFails  = regexp.MustCompile(`(?m)^FAIL\s+\S+\s+[0-9.]+s$`)
	failure    = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)
)

// failed names the tests that failed.
func failed(output []byte) string {
	var names []string
	for _, match := range failure.FindAllSubmatch(output, -1) {
		if name := string(match[1]); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "the end of the process"
	}
	return strings.Join(names, ", ")
}

// overlay writes the mutated file and the overlay that names it, and returns the path of the latter.
func (m mutation) overlay(folder string) (string, error) {
	text, err := os.ReadFile(m["file"])
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(text), m["from"]); n != 1 {
		return "", fmt.Errorf("%s has %q %d times, not once", m["file"], m["from"], n)
	}
	original, err := filepath.Abs(m["file"])
	if err != nil {
		return "", err
	}
	mutated := filepath.Join(folder, filepath.Base(m["file"]))
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {original: mutated}})
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "overlay.json")
	return path, errors.Join(
		os.WriteFile(mutated, []byte(strings.Replace(string(text), m["from"], m["to"], 1)), 0o600),
		os.WriteFile(path, replace, 0o600))
}
