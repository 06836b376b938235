package main

import (
	"fmt"
	"strings"
)

// register is a register of the program in the making, general or of vectors; allocate gives it a number. It may
// be written several times: there are as many names as the generator makes, and no single assignment.
type register struct {
	vector bool
	number int

	first, last int // lines between which it is in use

	// A constant is loaded into its register when it is first used.
	constant, loaded bool
	bits             uint32
}

// The forms in which an instruction names a register.
func (r *register) gp() operand          { return operand{r, "R%d"} }
func (r *register) at(bytes int) operand { return operand{r, fmt.Sprintf("%d(R%%d)", bytes)} }
func (r *register) f() operand           { return operand{r, "F%d"} }
func (r *register) words() operand       { return operand{r, "V%d.S4"} }
func (r *register) lane(i int) operand   { return operand{r, fmt.Sprintf("V%%d.S[%d]", i)} }

// operand is a register in the form in which an instruction names it; the form has a verb for the number.
type operand struct {
	register *register
	form     string
}

// line is an instruction or a label.
type line struct {
	text     string // with a %s for each operand
	operands []operand
	label    string // of this line
	target   string // label that it may branch to

	word uint32 // of an instruction that Go's assembler lacks
}

// function is one function of assembly.
type function struct {
	name   string
	params params
	lines  []line
}

// op adds an instruction in the syntax of Go's assembler.
func (f *function) op(text string, operands ...operand) {
	f.lines = append(f.lines, line{text: text, operands: operands})
}

// label adds a label. Labels are local to the function.
func (f *function) label(name string) { f.lines = append(f.lines, line{label: name}) }

// branch adds an instruction that may jump to a label.
func (f *function) branch(text, target string, operands ...operand) {
	f.lines = append(f.lines, line{text: text + " " + target, target: target, operands: operands})
}

// newGP and newVector return a register that nothing has written.
func newGP() *register     { return &register{} }
func newVector() *register { return &register{vector: true} }

// load returns a parameter in a register.
func (f *function) load(name string) *register {
	p := f.params.find(name)
	r := newGP()
	if p.kind == "float32" {
		r = newVector()
		f.op(fmt.Sprintf("FMOVS %s+%d(FP), %%s", name, p.offset), r.f())
		return r
	}
	move := "MOVD"
	if p.kind == "uint32" {
		move = "MOVWU"
	}
	f.op(fmt.Sprintf("%s %s+%d(FP), %%s", move, name, p.offset), r.gp())
	return r
}

// copyGP returns the value of a general register in a new one.
func (f *function) copyGP(from *register) *register {
	r := newGP()
	f.op("MOVD %s, %s", from.gp(), r.gp())
	return r
}

// print writes the function in the syntax of Go's assembler. Its frame has the parameters and no locals.
func (f *function) print(b *strings.Builder) {
	allocate(f)
	fmt.Fprintf(b, "\n// func %s(%s)%s\n", f.name, f.params.list, f.params.resultSuffix())
	fmt.Fprintf(b, "TEXT ·%s(SB), NOSPLIT, $0-%d\n", f.name, f.params.bytes)
	for _, l := range f.lines {
		if l.label != "" {
			fmt.Fprintf(b, "%s:\n", l.label)
			continue
		}
		fmt.Fprintf(b, "\t%s\n", l.print())
	}
}

// print writes an instruction; one that Go's assembler lacks is a WORD, with the numbers of its registers in it
// and the text as a comment.
func (l line) print() string {
	var names []any
	word := l.word
	for i, o := range l.operands {
		names = append(names, fmt.Sprintf(o.form, o.register.number))
		if l.word != 0 {
			word |= uint32(o.register.number) << registerShifts[i]
		}
	}
	text := fmt.Sprintf(l.text, names...)
	if l.word != 0 {
		return fmt.Sprintf("WORD $0x%08x // %s", word, text)
	}
	return text
}
