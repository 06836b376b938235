// Package config holds the one configuration tree of a run: its keys with their
// meaning, the presets, and the layers that make a resolved configuration out of
//
//	preset < files < SWITCHYARD_* settings < key=value arguments
//
// (a later layer wins). Every layer is flattened into a list of settings that
// remember where they were written; whatever is wrong with any of them is
// reported at once, with its position and the nearest valid key or value.
//
// The package knows names, types and ranges. It does not know what a model or a
// coordinator does with them, and it reads neither files nor the environment:
// its callers hand in bytes and strings.
package config
