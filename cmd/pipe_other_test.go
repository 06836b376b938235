//go:build !unix

package cmd

import "errors"

// makePipe does nothing on systems that have no pipes in folders.
func makePipe(string) error { return errors.ErrUnsupported }
