package store

import (
	"bytes"
	"time"
)

// older reads a record of the form that was written before rows,
// {"step":…,"split":…,"time":…,"seconds":…,"values":{…}}, several times as fast as package json. It returns false for
// what it does not know at a glance, which is then read at leisure.
func (d *decoder) older(line []byte) bool {
	s := scanner{rest: line}
	if !s.skip(`{"step":`) {
		return false
	}
	step := s.integer()
	if !s.skip(`"split":"`) {
		return false
	}
	split, ok := s.word()
	if !ok || !s.skip(`,"time":"`) {
		return false
	}
	at, ok := s.word()
	if !ok || !s.skip(`,"seconds":`) {
		return false
	}
	moment, err := time.Parse(time.RFC3339Nano, string(at))
	seconds := s.float(64)
	if err != nil || s.failed || step < 0 || !s.skip(`"values":{`) {
		return false
	}
	// The names of a run seldom change, so the list of the record before is shared as long as each name is the same.
	values, same := d.row.Values[:0], true
	names := d.old
	for i := 0; !s.ended; i++ {
		if !s.skip(`"`) {
			return false
		}
		name, ok := s.word()
		if !ok || !s.skip(":") {
			return false
		}
		if string(name) == "elbo" {
			return false // perhaps of a release that meant something else by it
		}
		if same && (i >= len(names) || string(name) != names[i]) {
			names, same = append([]string(nil), names[:min(i, len(names))]...), false
		}
		if !same {
			names = append(names, string(name))
		}
		values = append(values, s.float(64))
		if s.failed {
			return false
		}
	}
	if !bytes.Equal(s.rest, []byte("}")) {
		return false
	}
	if d.row.Split != string(split) {
		d.row.Split = string(split)
	}
	d.old = names[:len(values):len(values)]
	d.row = Row{Step: uint64(step), Split: d.row.Split, Time: moment, Seconds: seconds, Names: d.old, Values: values}
	return true
}

// skip passes over a text that must stand here. It reports whether it does.
func (s *scanner) skip(text string) bool {
	rest, found := bytes.CutPrefix(s.rest, []byte(text))
	s.rest = rest
	return found
}

// word reads up to the closing quote; words with escapes are not known at a glance.
func (s *scanner) word() ([]byte, bool) {
	i := bytes.IndexByte(s.rest, '"')
	if i < 0 || bytes.IndexByte(s.rest[:i], '\\') >= 0 {
		return nil, false
	}
	word := s.rest[:i]
	s.rest = s.rest[i+1:]
	return word, true
}
