package paper

import (
	"bytes"
	"errors"
	"path"
	"strings"
)

// Document is a report, independent of how it is rendered.
type Document struct {
	Title    string
	Lead     string // what it is about, in a sentence or two
	Facts    []Fact // how it was made
	Sections []Section
}

// Pages renders the document as an HTML page and as Markdown.
func (d *Document) Pages() (html, markdown []byte, err error) {
	var page, text bytes.Buffer
	if err := errors.Join(d.WriteHTML(&page), d.WriteMarkdown(&text)); err != nil {
		return nil, nil, err
	}
	return page.Bytes(), text.Bytes(), nil
}

// Fact is a named line of text.
type Fact struct{ Name, Text string }

// Section is a part with a heading. Its blocks are shown in order.
type Section struct {
	Title  string
	Blocks []Block
}

// Anchor is what links to the section end with. It is the title in small letters and digits, with hyphens for
// anything else but at its ends.
func (s Section) Anchor() string {
	return strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, s.Title), "-")
}

// Block is one paragraph, text with its own line breaks, table or figure: one of its fields is set.
type Block struct {
	Text     string
	Verbatim string
	Table    *Table
	Figure   *Figure
}

// Paragraph makes a block of text.
func Paragraph(text string) Block { return Block{Text: text} }

// Table is a rectangle of cells. The first column names the rows. All rows are as long as Columns.
type Table struct {
	Caption string
	Columns []string
	Rows    [][]string
	Words   bool     // the cells are text, not numbers: they are aligned to the left
	Notes   []string // below the table
}

// Figure is a picture in a file. The files are written before the document is.
type Figure struct {
	File    string // path relative to the document, with slashes
	Vector  string // the same as SVG; empty: there is none
	Caption string
	Alt     string // what it shows, for who cannot see it
}

// Picture makes a block of the figure of that name in the folder figures, as PNG and SVG. The caption is its Alt, too.
func Picture(name, caption string) Block {
	return Block{Figure: &Figure{
		File: path.Join("figures", name+".png"), Vector: path.Join("figures", name+".svg"), Caption: caption, Alt: caption,
	}}
}

// shown is the file that a page shows: it has any size.
func (f Figure) shown() string {
	if f.Vector != "" {
		return f.Vector
	}
	return f.File
}
