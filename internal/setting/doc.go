// Package setting reads and writes structs of settings. A setting is a field. Its tags are the only description of its
// key:
//
//	yaml    its name
//	doc     its meaning and unit
//	want    the range of a number, in interval notation: [0,1)
//	values  the words that a text may be, separated by blanks
//	source  the place in the paper that has the value
//	only    key=value of another key: if that key has another value, this one has no effect
//	was     the value that runs had before the key existed: at this value the key changes no identity
//	ends    the key with the update at which something ends, unless this key has the value of was
//	bits    "same": no value of the key changes a bit of a result
//
// Another package may have tags of its own, which it finds in Key.Tag, and keys that are lists, which Key.Append
// fills.
//
// The package knows types, ranges and texts. It does not know which keys exist, where a text was written, or what a
// value means: package config builds the tree of keys.
package setting
