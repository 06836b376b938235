package main

import (
	"fmt"
	"strings"
)

// params are the parameters of a function with their places in its frame.
type params struct {
	list, result string // as Go writes them
	all          []param
	resultOffset int
	bytes        int // of the frame
}

// param is a parameter: its name, its type and its place in the frame, in bytes from the first.
type param struct {
	name, kind string
	offset     int
}

// parseParams reads a parameter list of Go. Each parameter is aligned to its size, 4 or 8 bytes, and the result to
// 8.
func parseParams(list, result string) params {
	p := params{list: list, result: result}
	fields := strings.Split(list, ", ")
	kind := ""
	p.all = make([]param, len(fields))
	// The type stands behind the last name of a list such as a, b *float32.
	for i := len(fields) - 1; i >= 0; i-- {
		name, own, typed := strings.Cut(fields[i], " ")
		if typed {
			kind = own
		}
		p.all[i] = param{name: name, kind: kind}
	}
	for i := range p.all {
		size := 8
		if k := p.all[i].kind; k == "float32" || k == "uint32" {
			size = 4
		}
		p.bytes = (p.bytes + size - 1) &^ (size - 1)
		p.all[i].offset = p.bytes
		p.bytes += size
	}
	p.bytes = (p.bytes + 7) &^ 7
	if result != "" {
		p.resultOffset = p.bytes
		p.bytes++ // a bool
		if result == "uint32" {
			p.bytes += 3
		}
	}
	return p
}

// find returns the parameter with a name, which there has to be.
func (p params) find(name string) param {
	for _, q := range p.all {
		if q.name == name {
			return q
		}
	}
	panic(fmt.Sprintf("no parameter %s in (%s)", name, p.list))
}

// resultSuffix is the type of the result behind a space, or nothing.
func (p params) resultSuffix() string {
	if p.result == "" {
		return ""
	}
	return " " + p.result
}
