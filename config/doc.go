// Package config holds the configuration of a run: the tree of its keys with their meaning, the presets, the layers
// that make a resolved configuration, and the kinds of environments and models that a configuration may name:
//
//	preset < files < SWITCHYARD_* settings < key=value arguments
//
// A later layer overrides an earlier one. What settings choose for others (model.Choosing) overrides presets that were
// written without the choice, and nothing else. Each layer becomes a list of settings that remember where they were
// written. All problems of all layers are reported together, each with its position and the most similar valid key or
// value.
//
// # Kinds
//
// A Registry lists the values of env.kind and model.kind: those that come with Switchyard, and those that a program
// adds. Each kind brings its section of keys (package setting) and builds its environment or model from them.
//
// # Hints
//
// Errors tell their reader what to do: an error may have a hint, and may be marked as a mistake of the caller. How
// errors are printed, and which exit code they get, is decided elsewhere.
//
// The package knows names, types and ranges. It does not know what a coordinator does with them, and it reads neither
// files nor the environment: its callers pass bytes and strings.
package config
