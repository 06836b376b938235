// Package figure draws what eval measures: panels on one page, as PNG and as SVG, with the numbers of every panel as
// CSV beside them. The same data give the same bytes.
//
// Each figure is a file of its own named after its protocol; the style that they share (axes, ticks, colours, keys)
// knows no protocol. Only this package links a plotting library. It computes nothing that a table would not hold.
package figure

import (
	"bytes"
	"fmt"
	"image/png"
	"path/filepath"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/internal/disk"
)

// Figure is a page that can be written to files. Figures are made by the functions of this package. One keeps the
// data that it draws, which must not change until it is written; it may be written more than once.
type Figure struct {
	Name string // of the files, without extension
	// Size of the page, and what draws all of it. The same function draws pixels and vectors.
	width, height vg.Length
	draw          func(draw.Canvas)
	tables        []namedTable
}

// A namedTable holds the numbers of one panel.
type namedTable struct {
	name  string
	table eval.Table
}

// dotsPerInch is the resolution of a PNG: an inch of the page has so many pixels.
const dotsPerInch = 160

// Write writes Name.png, Name.svg and one Name_PANEL.csv per panel into the existing folder dir, and returns their
// paths in this order. Each file is replaced as a whole. On an error there are no paths, though some files may be
// written.
func (f Figure) Write(dir string) ([]string, error) {
	// All is rendered before a file is opened, so that a failure to do so leaves no half of a figure.
	pixels, err := f.PNG()
	if err != nil {
		return nil, err
	}
	vectors, err := f.SVG()
	if err != nil {
		return nil, err
	}
	contents := [][]byte{pixels, vectors}
	for _, t := range f.tables {
		var b bytes.Buffer
		if err := t.table.WriteCSV(&b); err != nil {
			return nil, err
		}
		contents = append(contents, b.Bytes())
	}
	var paths []string
	for i, name := range f.Files() {
		path := filepath.Join(dir, name)
		if err := disk.Write(disk.System(), path, contents[i]); err != nil {
			return nil, fmt.Errorf("write figure: %w", err)
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// Files are the names of the files of Write. A caller can say what will be written before it is.
func (f Figure) Files() []string {
	list := []string{f.Name + ".png", f.Name + ".svg"}
	for _, t := range f.tables {
		list = append(list, f.Name+"_"+t.name+".csv")
	}
	return list
}

// PNG renders the figure as pixels. An error is that of the encoder.
func (f Figure) PNG() ([]byte, error) {
	c := vgimg.NewWith(vgimg.UseWH(f.width, f.height), vgimg.UseDPI(dotsPerInch))
	f.draw(draw.New(c))
	var b bytes.Buffer
	// A figure compresses well in any case, and the search for the smallest file takes longer than the drawing.
	if err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&b, c.Image()); err != nil {
		return nil, fmt.Errorf("encode PNG: %w", err)
	}
	return b.Bytes(), nil
}

// SVG renders the figure as vectors. Text stays text.
func (f Figure) SVG() ([]byte, error) {
	c := vgsvg.New(f.width, f.height)
	f.draw(draw.New(c))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return nil, fmt.Errorf("encode SVG: %w", err)
	}
	// Where the font of the layout is missing, a browser must not fall back on a serif.
	// Arial and Helvetica have the same widths.
	family := []byte("font-family:" + familyName)
	return bytes.ReplaceAll(b.Bytes(), family, append(family, ",Arial,Helvetica,sans-serif"...)), nil
}
