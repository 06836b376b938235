package cmd

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manCommand writes manual pages. They are made of the same texts as --help by a few lines here: cobra's own generator
// goes by way of Markdown and brings three more modules.
func (a *app) manCommand() *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use:   "man",
		Short: "Write manual pages, one per command",
		Long: `Write manual pages, one per command, into a folder. Put them where man finds them, or
read one in place.`,
		Example: "  " + a.invoked + " man -o man1 && man ./man1/switchyard-train.1",
		Args:    exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return fmt.Errorf("make the folder of the pages: %w", err)
			}
			n, err := a.manPages(c.Root(), dir)
			if err != nil {
				return err
			}
			return a.result(writtenPages{dir, n}, func() error { return a.printf("wrote    %d pages into %s\n", n, dir) })
		},
	}
	a.jsonFlag(c)
	c.Flags().StringVarP(&dir, "out", "o", "man1", "output folder")
	return c
}

// writtenPages is what man --json prints.
type writtenPages struct {
	Folder string `json:"folder"`
	Pages  int    `json:"pages"`
}

// manPages writes the page of a command and those of its subcommands, and returns how many. The page of a
// subcommand is switchyard-NAME.1; hidden commands have none.
func (a *app) manPages(c *cobra.Command, dir string) (int, error) {
	path := filepath.Join(dir, strings.ReplaceAll(c.CommandPath(), " ", "-")+".1")
	if err := a.replaceFile(path, func(w io.Writer) error {
		_, err := io.WriteString(w, manPage(c))
		return err
	}); err != nil {
		return 0, fmt.Errorf("write %s: %w", path, err)
	}
	n := 1
	for _, sub := range c.Commands() {
		if !sub.IsAvailableCommand() {
			continue
		}
		more, err := a.manPages(sub, dir)
		if n += more; err != nil {
			return n, err
		}
	}
	return n, nil
}

// manPage is the page of a command in roff. Its long text, which setWidth has broken into lines, is not filled
// again.
func manPage(c *cobra.Command) string {
	var b strings.Builder
	name := strings.ReplaceAll(c.CommandPath(), " ", "-")
	fmt.Fprintf(&b, ".TH %q 1\n.SH NAME\n%s \\- %s\n", strings.ToUpper(name), roff(name), roff(c.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", roff(c.UseLine()))
	fmt.Fprintf(&b, ".SH DESCRIPTION\n.nf\n%s\n.fi\n", roff(firstOf(c.Long, c.Short)))
	section := func(title string, flags *pflag.FlagSet) {
		if !flags.HasAvailableFlags() {
			return
		}
		fmt.Fprintf(&b, ".SH %s\n", title)
		flags.VisitAll(func(f *pflag.Flag) {
			names := "\\-\\-" + roff(f.Name)
			if f.Shorthand != "" {
				names = "\\-" + f.Shorthand + ", " + names
			}
			word, usage := pflag.UnquoteUsage(f)
			fmt.Fprintf(&b, ".TP\n\\fB%s\\fR %s\n%s\n", names, roff(word), roff(usage))
		})
	}
	section("OPTIONS", c.NonInheritedFlags())
	section("GLOBAL OPTIONS", c.InheritedFlags())
	if c.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(c.Example))
	}
	// The page of the command above, and those of the commands below.
	var others []string
	if c.HasParent() {
		others = append(others, strings.ReplaceAll(c.Parent().CommandPath(), " ", "-"))
	}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			others = append(others, strings.ReplaceAll(sub.CommandPath(), " ", "-"))
		}
	}
	if others != nil {
		fmt.Fprintf(&b, ".SH SEE ALSO\n%s\n", roff(strings.Join(others, "(1), ")+"(1)"))
	}
	return b.String()
}

// firstOf is the first of two texts that is not empty.
func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// roff quotes what roff would obey: backslashes, hyphens, which it may set as another sign, and points and
// apostrophes that begin a line.
func roff(text string) string {
	text = strings.NewReplacer("\\", "\\e", "-", "\\-").Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = "\\&" + line
		}
	}
	return strings.Join(lines, "\n")
}
