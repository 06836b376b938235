package paper

import (
	"fmt"
	"io"
	"strings"
)

// WriteMarkdown writes the document as Markdown. Text is written as it is; only the cells of tables are escaped.
// Of a figure the PNG is shown.
func (d *Document) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n", d.Title, d.Lead)
	// Facts are a table without headings.
	if len(d.Facts) > 0 {
		b.WriteString("\n| | |\n|---|---|\n")
		for _, f := range d.Facts {
			fmt.Fprintf(&b, "| %s | %s |\n", cell(f.Name), cell(f.Text))
		}
	}
	for _, s := range d.Sections {
		fmt.Fprintf(&b, "\n## %s\n", s.Title)
		for _, block := range s.Blocks {
			b.WriteByte('\n')
			switch {
			case block.Table != nil:
				block.Table.markdown(&b)
			case block.Figure != nil:
				f := block.Figure
				fmt.Fprintf(&b, "![%s](%s)\n\n*%s*\n", f.Alt, f.File, f.Caption)
			case block.Verbatim != "":
				fmt.Fprintf(&b, "```\n%s\n```\n", strings.TrimRight(block.Verbatim, "\n"))
			default:
				b.WriteString(block.Text + "\n")
			}
		}
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// markdown appends the table: numbers to the right, words to the left, the names of rows always to the left.
func (t *Table) markdown(b *strings.Builder) {
	if t.Caption != "" {
		fmt.Fprintf(b, "%s\n\n", t.Caption)
	}
	rule := "---:"
	if t.Words {
		rule = "---"
	}
	line := func(cells []string) {
		for _, c := range cells {
			fmt.Fprintf(b, "| %s ", cell(c))
		}
		b.WriteString("|\n")
	}
	line(t.Columns)
	// The first column names the rows, to the left in any case.
	b.WriteString("|---")
	for range t.Columns[1:] {
		b.WriteString("|" + rule)
	}
	b.WriteString("|\n")
	for _, r := range t.Rows {
		line(r)
	}
	for _, n := range t.Notes {
		fmt.Fprintf(b, "\n%s\n", n)
	}
}

// cell is text that cannot end the cell of a table.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ").Replace(s)
}
