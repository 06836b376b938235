// Package setting reads and writes structs of settings. A setting is a field whose tags
// are the single description of a key:
//
//	yaml    its name
//	doc     its meaning and unit
//	want    the range of a number, in interval notation: [0,1)
//	values  the words that a text may be, separated by blanks
//	source  where the value of a paper stands
//	only    key=value of another key: where that has another value, this one has no effect
//	was     the value that runs had before the key existed: at it the key changes no identity
//	bits    "same": no value of the key changes a bit of a result
//
// The package knows types, ranges and texts. It does not know which keys there are, where a text
// was written, or what a value means: package config puts trees of keys together.
package setting
