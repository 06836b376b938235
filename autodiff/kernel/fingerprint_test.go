package kernel

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite testdata/fingerprint.txt")

// TestFingerprint_Golden: the fingerprint is the same for every instruction set, build tag and architecture. It
// changes only when the arithmetic or the input does, and then no worker of an older release may join a run.
func TestFingerprint_Golden(t *testing.T) {
	path := filepath.Join("testdata", "fingerprint.txt")
	eachISA(t, func(t *testing.T) {
		var b strings.Builder
		for _, s := range Fingerprint() {
			fmt.Fprintf(&b, "%016x %s\n", s.Sum, s.Kernel)
		}
		if *update {
			if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if b.String() != string(want) {
			t.Errorf("got\n%s\nwant\n%s", b.String(), want)
		}
	})
}

// TestFingerprint_NamesTheKernel changes one bit of what one kernel computes, at the first, a middle and the last
// value, and expects its line alone to differ. No input makes a NaN, whose bits would not count.
func TestFingerprint_NamesTheKernel(t *testing.T) {
	want := Fingerprint()
	for i, victim := range probes() {
		count, nans := 0, 0
		victim.run(func(values ...float32) {
			count += len(values)
			for _, v := range values {
				if v != v {
					nans++
				}
			}
		})
		if count == 0 || nans > 0 {
			t.Errorf("%s shows %d values, %d of them NaN", victim.kernel, count, nans)
			continue
		}
		for _, at := range []int{0, count / 2, count - 1} {
			changed := []probe{{victim.kernel, withChangedBit(victim, at)}}
			if got := fingerprint(changed)[0]; got == want[i] {
				t.Errorf("%s: a changed bit of value %d of %d goes unseen", victim.kernel, at, count)
			}
		}
		changed := probes()
		changed[i].run = withChangedBit(victim, count/2)
		var differ []string
		for j, line := range fingerprint(changed) {
			if line != want[j] {
				differ = append(differ, line.Kernel)
			}
		}
		if !slices.Equal(differ, []string{victim.kernel}) {
			t.Errorf("a changed bit of %s changes the lines %v", victim.kernel, differ)
		}
	}
}

// withChangedBit is what p shows, but for the last bit of one value.
func withChangedBit(p probe, at int) func(func(...float32)) {
	return func(show func(...float32)) {
		n := 0
		p.run(func(values ...float32) {
			values = slices.Clone(values)
			if 0 <= at-n && at-n < len(values) {
				values[at-n] = math.Float32frombits(math.Float32bits(values[at-n]) ^ 1)
			}
			n += len(values)
			show(values...)
		})
	}
}

// TestFingerprint_CoversEveryKernel: what is exported and computes has a line. Those below compute nothing that a
// parameter depends on.
func TestFingerprint_CoversEveryKernel(t *testing.T) {
	none := []string{"Active", "Available", "Best", "Dense", "Fingerprint", "Golden", "ISA.String", "NewPhilox", "Packed.Columns", "Packed.Rows", "ParseISA", "Peak", "Use"}
	var lines []string
	for _, s := range Fingerprint() {
		lines = append(lines, s.Kernel)
	}
	if !slices.IsSorted(lines) || len(slices.Compact(slices.Clone(lines))) != len(lines) {
		t.Errorf("not in ascending order without repetition: %v", lines)
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range tree.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !f.Name.IsExported() || slices.Contains(none, qualified(f)) {
				continue
			}
			name := strings.TrimPrefix(strings.TrimPrefix(qualified(f), "Packed."), "Philox.")
			if !slices.ContainsFunc(lines, func(line string) bool { return slices.Contains(strings.Fields(line), name) }) && name != "Pack" {
				t.Errorf("%s has no line in the fingerprint: add a probe", qualified(f))
			}
		}
	}
}

// qualified is the name of a function, with its receiver's type if it is a method.
func qualified(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	of := f.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	return of.(*ast.Ident).Name + "." + f.Name.Name
}

func BenchmarkFingerprint(b *testing.B) {
	for _, isa := range Available() {
		b.Run(isa.String(), func(b *testing.B) {
			use(b, isa)
			for b.Loop() {
				Fingerprint()
			}
		})
	}
}
