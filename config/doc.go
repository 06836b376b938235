// Package config holds the configuration tree of a run: its keys with their meaning, the presets, and the layers that
// make a resolved configuration:
//
//	preset < files < SWITCHYARD_* settings < key=value arguments
//
// A later layer overrides an earlier one. Each layer becomes a list of settings that remember where they were written.
// All problems of all layers are reported together, each with its position and the most similar valid key or value.
//
// The package knows names, types and ranges. It does not know what a model or a coordinator does with them, and it
// reads neither files nor the environment: its callers pass bytes and strings.
package config
