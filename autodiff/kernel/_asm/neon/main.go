// Command neon generates the kernels for arm64: gemm_arm64.s with the matrix products
// and vector_arm64.s with the rest, and their Go declarations. The element-wise
// functions are those of package formula, so that they have the same bits as on every
// other instruction set. It gives registers their numbers itself, and writes the
// instructions that Go's assembler lacks as words.
package main

import (
	"flag"
	"log"
	"os"
	"path/filepath"
)

func main() {
	dir := flag.String("out", ".", "folder for the files")
	flag.Parse()
	for name, f := range map[string]*file{"gemm": gemm(), "vector": vector()} {
		for suffix, text := range map[string]string{"_arm64.s": f.assembly(), "_stubs_arm64.go": f.stubs()} {
			if err := os.WriteFile(filepath.Join(*dir, name+suffix), []byte(text), 0o644); err != nil {
				log.Fatal(err)
			}
		}
	}
}

// gemm has the micro-kernels of the matrix products for every shape of tile, the packing and the peak.
func gemm() *file {
	var f file
	for vectors := panelVectors; vectors >= 1; vectors-- {
		for rows := 1; rows <= tileRows; rows++ {
			f.tile(rows, vectors)
		}
	}
	f.packPanels()
	f.packTransposed()
	f.peak()
	return &f
}

// vector has all other kernels.
func vector() *file {
	var f file
	f.functionsOfOne()
	f.arithmetic()
	f.sums()
	f.outers()
	for _, log := range []bool{false, true} {
		f.softmax(log)
		for _, columns := range []int{4, 8, 16} {
			f.shortSoftmax(columns, log)
		}
	}
	f.lstmForward()
	f.lstmBackward()
	f.adam()
	f.random()
	f.integers()
	return &f
}
