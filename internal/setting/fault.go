package setting

import "fmt"

// Fault is something that is wrong between settings that are each within their range.
type Fault struct {
	Keys    []string // paths of the settings that do not fit together; the first is where the fault is shown
	Message string   // what is wrong
	Hint    string   // what to do; may be empty
}

// Faultf makes a fault of the settings with the given paths.
func Faultf(keys []string, hint, format string, args ...any) Fault {
	return Fault{Keys: keys, Message: fmt.Sprintf(format, args...), Hint: hint}
}
