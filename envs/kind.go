package envs

import "github.com/switchyard-ml/switchyard/internal/setting"

// Kind is a kind of environment: a value that env.kind may have. One line in package registry, or in switchyard.Own,
// registers it.
type Kind struct {
	Name string // one word: the value of env.kind
	Doc  string // what it is, in one line
	Unit bool   // observations lie between 0 and 1, as those of images
	// Settings returns new settings, all at their defaults. Each call returns memory of its own.
	Settings func() Settings
}

// Settings are the keys of a configuration that only one kind has. Their type is a pointer to a struct. Each field with
// a yaml tag is a key of the section env, with the tags that model.Settings describes.
type Settings interface {
	// New builds the environment. The error says which setting is wrong.
	New() (Env, error)
}

// Checker are Settings with conditions between several keys.
type Checker interface {
	// Check returns the conditions that do not hold. Each setting is within its own range.
	Check() []Fault
}

// Fault is a conflict between settings that are each within their range.
type Fault = setting.Fault

// Faultf makes a fault of the settings with the given paths, e.g. env.observations. The fault is reported at the first
// of them. The hint says what to do.
func Faultf(keys []string, hint, format string, args ...any) Fault {
	return setting.Faultf(keys, hint, format, args...)
}
