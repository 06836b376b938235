package paper

import (
	"math"
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

// TestShort: three significant digits, also where rounding makes one more before the point.
func TestShort(t *testing.T) {
	for _, c := range []struct {
		v    float64
		want string
	}{
		{0, "0.00"},
		{0.9994, "0.999"},
		{0.9996, "1.00"},
		{-0.09999, "-0.100"},
		{12.345, "12.3"},
		{99.97, "100"},
		{4584.2, "4584"},
		{0.0000123, "0.000012"},
		{1e-9, "0.000000"},
		{123456, "1.23e+05"},
		{math.NaN(), "–"},
		{math.Inf(1), "+Inf"},
	} {
		if got := short(c.v); got != c.want {
			t.Errorf("%g: %q, want %q", c.v, got, c.want)
		}
	}
}
