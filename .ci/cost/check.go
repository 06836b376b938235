package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// test is a line of the ledger.
type test struct {
	seconds float64
	name    string // ./package TestName
}

// check holds a ledger against a budget in yardsticks: a slow machine makes no test exceed it. Each line of costly
// begins with the package and the name of a test that may cost more, and gives the reason.
func check(ledger, costly, budget string) error {
	yardsticks, err := strconv.ParseFloat(budget, 64)
	if err != nil {
		return fmt.Errorf("read the budget: %w", err)
	}
	limit := yardsticks * yardstick()
	tests, err := readLedger(ledger)
	if err != nil {
		return err
	}
	listed, err := readList(costly)
	if err != nil {
		return err
	}
	slices.SortStableFunc(tests, func(a, b test) int { return cmp.Compare(b.seconds, a.seconds) })
	var sum float64
	for _, t := range tests {
		sum += t.seconds
	}
	fmt.Printf("%d tests, %.0f s of processor time, budget of one %.1f s. The ten costliest:\n", len(tests), sum, limit)
	for _, t := range tests[:min(10, len(tests))] {
		fmt.Printf("%7.2f s  %s\n", t.seconds, t.name)
	}
	var faults []error
	seen := map[string]bool{}
	for _, t := range tests {
		folder, _, _ := strings.Cut(t.name, " ")
		seen[t.name], seen[folder] = true, true
		if t.seconds > limit && !listed[t.name] {
			faults = append(faults, fmt.Errorf("%s took %.1f s of processor time, and the budget is %.1f s: make it cheaper, "+
				"move it to a file with the build tag long, or list it in %s with the reason", t.name, t.seconds, limit, costly))
		}
	}
	for name := range listed {
		if folder, _, _ := strings.Cut(name, " "); seen[folder] && !seen[name] {
			faults = append(faults, fmt.Errorf("%s lists %s, which is no test that ran", costly, name))
		}
	}
	return errors.Join(faults...)
}

func readLedger(path string) ([]test, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the ledger: %w", err)
	}
	top, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("find the module: %w", err)
	}
	var tests []test
	for line := range strings.Lines(string(text)) {
		var t test
		var folder string
		if _, err := fmt.Sscan(line, &t.seconds, &folder, &t.name); err != nil {
			return nil, fmt.Errorf("%s: read the line %q: %w", path, line, err)
		}
		relative, err := filepath.Rel(top, folder)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if relative != "." {
			relative = "./" + filepath.ToSlash(relative)
		}
		t.name = relative + " " + t.name
		tests = append(tests, t)
	}
	return tests, nil
}

func readList(path string) (map[string]bool, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the list: %w", err)
	}
	listed := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 1 && !strings.HasPrefix(words[0], "#") {
			listed[words[0]+" "+words[1]] = true
		}
	}
	return listed, nil
}
