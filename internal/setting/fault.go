package setting

import "fmt"

// Fault is a conflict between settings that are each within their range.
type Fault struct {
	Keys    []string // paths of the settings in conflict; the fault is reported at the first
	Message string   // what is wrong
	Hint    string   // what to do; may be empty
}

// Faultf makes a fault of the settings with the given paths.
func Faultf(keys []string, hint, format string, args ...any) Fault {
	return Fault{Keys: keys, Message: fmt.Sprintf(format, args...), Hint: hint}
}
