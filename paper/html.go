package paper

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
)

//go:embed page.html
var pageText string

// WriteHTML writes the document as one page without scripts. Its pictures are files beside it.
func (d *Document) WriteHTML(w io.Writer) error {
	page, err := template.New("page").Funcs(template.FuncMap{"shown": Figure.shown}).Parse(pageText)
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	if err := page.Execute(w, d); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}
