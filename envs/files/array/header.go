package array

import (
	"fmt"
	"strconv"
	"strings"
)

// maxDims is the largest number of dimensions that numpy makes.
const maxDims = 64

// parseHeader reads the Python literal that describes an array:
//
//	{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
//
// It accepts these three keys in any order, each once, and no other; strings in either quotes, without escapes; and
// what Python 2 wrote. Errors are ErrFormat, ErrType and ErrObject.
func parseHeader(text string) (*Array, error) {
	p := &literal{rest: text}
	a := &Array{}
	seen := map[string]bool{}
	if !p.take("{") {
		return nil, p.fault("a dictionary")
	}
	for !p.take("}") {
		key, ok := p.text()
		if !ok || !p.take(":") || seen[key] {
			return nil, p.fault("a new key and a colon")
		}
		seen[key] = true
		if err := p.value(a, key); err != nil {
			return nil, err
		}
		if !p.take(",") && !strings.HasPrefix(strings.TrimLeft(p.rest, " "), "}") {
			return nil, p.fault("a comma or the end")
		}
	}
	if strings.Trim(p.rest, " \n\x00") != "" {
		return nil, p.fault("the end of the header")
	}
	for _, key := range []string{"descr", "fortran_order", "shape"} {
		if !seen[key] {
			return nil, fmt.Errorf("%w: the header has no %s", ErrFormat, key)
		}
	}
	if a.Kind == Text && a.Size > maxHeader {
		return nil, fmt.Errorf("%w: text of %d characters", ErrType, a.Size/4)
	}
	return a, nil
}

// literal is the part of a header that is not read yet.
type literal struct{ rest string }

// fault is ErrFormat, with what stands there and what is wanted in its place.
func (p *literal) fault(want string) error {
	rest := p.rest
	if len(rest) > 20 {
		rest = rest[:20]
	}
	return fmt.Errorf("%w: its header has %q in place of %s", ErrFormat, rest, want)
}

// take skips spaces and the given sign, if it is there.
func (p *literal) take(sign string) bool {
	rest, ok := strings.CutPrefix(strings.TrimLeft(p.rest, " \n"), sign)
	if ok {
		p.rest = rest
	}
	return ok
}

// text reads a string in single or double quotes, without escapes. It reports whether there is one that ends.
func (p *literal) text() (string, bool) {
	for _, quote := range []string{"'", `"`} {
		if p.take(quote) {
			s, rest, ok := strings.Cut(p.rest, quote)
			p.rest = rest
			return s, ok
		}
	}
	return "", false
}

// value reads the value of a key into the array.
func (p *literal) value(a *Array, key string) error {
	switch key {
	case "descr":
		descr, ok := p.text()
		if !ok && p.take("[") {
			return fmt.Errorf("%w: a record of several fields", ErrType)
		}
		if !ok {
			return p.fault("the type")
		}
		return typeOf(a, descr)
	case "fortran_order":
		a.ColumnMajor = p.take("True")
		if !a.ColumnMajor && !p.take("False") {
			return p.fault("True or False")
		}
		return nil
	case "shape":
		return p.shape(a)
	}
	return fmt.Errorf("%w: the header has an unknown key %q", ErrFormat, key)
}

// shape reads a tuple of whole numbers, at most 64. () is a scalar.
func (p *literal) shape(a *Array) error {
	if !p.take("(") {
		return p.fault("the shape")
	}
	a.Shape = []int{}
	for !p.take(")") {
		p.rest = strings.TrimLeft(p.rest, " ")
		digits := len(p.rest) - len(strings.TrimLeft(p.rest, "0123456789"))
		d, err := strconv.Atoi(p.rest[:digits])
		if err != nil || len(a.Shape) == maxDims {
			return p.fault("a dimension")
		}
		a.Shape = append(a.Shape, d)
		p.rest = p.rest[digits:]
		p.take("L") // of Python 2
		if !p.take(",") && !strings.HasPrefix(strings.TrimLeft(p.rest, " "), ")") {
			return p.fault("a comma or the end of the shape")
		}
	}
	return nil
}
