package envs

import "github.com/switchyard-ml/switchyard/internal/setting"

// Kind is a kind of environment: what env.kind may name. A kind is registered by one line where all are listed.
type Kind struct {
	Name string // a word, the value of env.kind
	Doc  string // what it is, in one line
	Unit bool   // observations lie between 0 and 1, as those of images
	// Settings returns new settings, all at their defaults.
	Settings func() Settings
}

// Settings are the keys of a configuration that only one kind has. Their type is a pointer to a struct; each field with a
// yaml tag is a key of the section env, described as model.Settings says.
type Settings interface {
	// New builds the environment. The error says which setting is wrong.
	New() (Env, error)
}

// Checker are Settings of which not all values fit together.
type Checker interface {
	// Check returns what does not fit together; each setting is within its range.
	Check() []Fault
}

// Fault is something that is wrong between settings that are each within their range.
type Fault = setting.Fault

// Faultf makes a fault of the settings with the given paths, e.g. env.observations; the first is where it is shown. The
// hint says what to do.
func Faultf(keys []string, hint, format string, args ...any) Fault {
	return setting.Faultf(keys, hint, format, args...)
}
