package cmd

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/switchyard-ml/switchyard/config"
)

// secretFile refuses a secret that was given instead of the name of its file. The error does not repeat it.
func secretFile(flag, path string) error {
	const leastLength = 32
	if len(path) < leastLength || strings.ContainsAny(path, `./\`) {
		return nil
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return config.Hint(config.Usagef("--%s takes the name of a file, and there is none of that name; what was given "+
		"may be the secret itself", flag),
		"the arguments of a process can be seen by all users of the machine: if it was a secret, make a new one "+
			"(docs/security.md)")
}
