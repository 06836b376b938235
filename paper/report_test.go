package paper

import (
	"strings"
	"testing"
)

func sampleDocument() *Document {
	return &Document{
		Title: "A < B", Lead: "Two models.", Facts: []Fact{{"machine", "a | b"}},
		Sections: []Section{{Title: "Table 1: errors", Blocks: []Block{
			Paragraph("Numbers & words."),
			{Table: &Table{Caption: "Errors", Columns: []string{"model", "5"}, Rows: [][]string{{"x|y", "0.1"}}, Notes: []string{"Lower is better."}}},
			{Verbatim: "k  1 < 2\n"},
			{Figure: &Figure{File: "figures/a.png", Vector: "figures/a.svg", Caption: "Curves", Alt: "error over steps"}},
		}}},
	}
}

func TestWriteMarkdown(t *testing.T) {
	var b strings.Builder
	if err := sampleDocument().WriteMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	const want = `# A < B

Two models.

| | |
|---|---|
| machine | a \| b |

## Table 1: errors

Numbers & words.

Errors

| model | 5 |
|---|---:|
| x\|y | 0.1 |

Lower is better.

` + "```\nk  1 < 2\n```" + `

![error over steps](figures/a.png)

*Curves*
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

// TestWriteHTML: text is escaped, sections have anchors that the list of sections links to, and figures are vectors.
func TestWriteHTML(t *testing.T) {
	var b strings.Builder
	if err := sampleDocument().WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"<title>A &lt; B</title>", `href="#table-1--errors"`, `id="table-1--errors"`, "Numbers &amp; words.",
		`<img src="figures/a.svg" alt="error over steps"`, `href="figures/a.png"`, "<td>x|y</td>", "Lower is better.", "k  1 &lt; 2\n</pre>",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
}
