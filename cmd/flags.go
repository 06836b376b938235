package cmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/wire/shm"
)

// Results go to a.out, for people or with --json for programs. Logs, progress, warnings and errors go to a.err, so
// that a program that reads results gets nothing else.

// jsonFlag adds the flag by which every command with a result prints it for programs: one JSON value on stdout, and
// nothing else there. docs/operators.md says what programs can rely on.
func (a *app) jsonFlag(c *cobra.Command) {
	c.Flags().BoolVar(&a.asJSON, "json", false, "print the result as one JSON value")
}

// result prints a result: v as JSON, or by tell for people. A command that would print both ways has one call of it
// at its end; what it prints before has to go to stderr.
func (a *app) result(v any, tell func() error) error {
	if a.asJSON {
		return a.printJSON(v)
	}
	return tell()
}

// written is the result of a command that writes files.
type written struct {
	Files []string `json:"files"`
}

// wroteFiles says which files were written.
func (a *app) wroteFiles(paths ...string) error {
	return a.result(written{paths}, func() error {
		for _, path := range paths {
			if err := a.printf("wrote    %s\n", path); err != nil {
				return err
			}
		}
		return nil
	})
}

// silenced does work whose text for people nobody reads, because the result is JSON: until it returns, a.out is
// discarded. Warnings and progress still reach stderr.
func (a *app) silenced(work func() error) error {
	out := a.out
	a.out = io.Discard
	defer func() { a.out = out }()
	return work()
}

// printJSON prints a result as one JSON value, indented, without escapes for HTML. Lines are never broken for a
// terminal.
func (a *app) printJSON(v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("encode the output: %w", err)
	}
	return a.printRaw(b.String())
}

// printRaw prints JSON: its lines stay as they are on a terminal, too.
func (a *app) printRaw(text string) error { return a.printAsIs(terminal.JSON(text)) }

// printYAML prints a configuration. On a terminal its comments are folded, so that it stays a configuration.
func (a *app) printYAML(text string) error {
	if w, ok := a.out.(interface{ Width() int }); ok && w.Width() > 0 {
		text = terminal.FoldComments(terminal.Lines(text), w.Width())
	}
	return a.printAsIs(text)
}

// printAsIs writes text past the folding of lines for a terminal, and ends it with a line end if it has none.
func (a *app) printAsIs(text string) error {
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	if _, err := io.WriteString(terminal.Raw(a.out), text); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}

// unused returns a usage error for the first of some flags that is set although it means nothing, and why says so.
func unused(c *cobra.Command, why string, names ...string) error {
	for _, name := range names {
		if c.Flags().Changed(name) {
			return config.Usagef("--%s %s", name, why)
		}
	}
	return nil
}

// atLeast returns a usage error for the first of some flags, all whole numbers, that is less than least.
func atLeast(c *cobra.Command, least int, names ...string) error {
	for _, name := range names {
		if n, err := c.Flags().GetInt(name); err != nil || n < least {
			return config.Usagef("--%s %s: must be at least %d", name, c.Flag(name).Value, least)
		}
	}
	return nil
}

// memoryFlag says where processes of this host meet to share memory.
type memoryFlag struct {
	folder string // off: nowhere; empty: the usual one
}

// The word and the name of the flag --shared-memory.
const (
	noMemory   = "off"
	memoryName = "shared-memory"
)

// add defines the flag.
func (f *memoryFlag) add(c *cobra.Command) {
	c.Flags().StringVar(&f.folder, memoryName, "", "folder where coordinator and workers on one host meet to share "+
		"memory, or off (default: a folder of this user in /dev/shm)")
}

// check returns a usage error for a relative path: coordinator and workers would look for it in different folders.
func (f *memoryFlag) check() error {
	if f.folder != "" && f.folder != noMemory && !filepath.IsAbs(f.folder) {
		return config.Hint(config.Usagef("--%s %s: give an absolute path or %s", memoryName, f.folder, noMemory),
			"e.g. --%s /dev/shm/switchyard", memoryName)
	}
	return nil
}

// host is the memory that is shared; nil: none is. Without the flag it is a folder of this user in /dev/shm, a file
// system in memory, where there is one. Processes of other users have another folder and so share nothing.
func (f *memoryFlag) host() shm.Host {
	const usual = "/dev/shm" // of Linux
	switch f.folder {
	case noMemory:
		return nil
	case "":
		if info, err := os.Stat(usual); err != nil || !info.IsDir() {
			return nil
		}
		return shm.Directory(filepath.Join(usual, fmt.Sprintf("switchyard-%d", os.Geteuid())))
	}
	return shm.Directory(f.folder)
}
