package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard"
	"github.com/switchyard-ml/switchyard/cluster"
	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
	"github.com/switchyard-ml/switchyard/sweep"
	"github.com/switchyard-ml/switchyard/trained"
)

// The exit codes that scripts rely on. An error that nobody foresaw has exitFailed, so that it is never taken for a
// mistake of the user.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2   // wrong arguments or configuration
	exitInterrupted = 3   // stopped on request, with a checkpoint
	exitData        = 4   // a file of a run, a checkpoint or data cannot be used
	exitPipe        = 141 // the program that reads the output has ended: what a shell says of SIGPIPE
)

// exitCodes maps errors to exit codes. The first match decides; an error without a match has exitFailed.
var exitCodes = []struct {
	target error
	code   int
}{
	{config.ErrUsage, exitUsage},
	{store.ErrOccupied, exitUsage},
	{store.ErrName, exitUsage},
	{store.ErrNotFound, exitUsage},
	{store.ErrHeld, exitUsage},
	{switchyard.ErrUnable, exitUsage},
	{trained.ErrEnding, exitUsage},
	{switchyard.ErrSeries, exitData},
	{checkpoint.ErrCorrupt, exitData},
	{coordinator.ErrMismatch, exitData},
	{store.ErrDamaged, exitData},
	{files.ErrData, exitData},
	{cluster.ErrDamaged, exitData},
	{cluster.ErrKeys, exitData},
	{errPipe, exitPipe},
	{syscall.ENOTDIR, exitUsage},
	{syscall.ENOSPC, exitFailed}, // before ErrInterrupted: the checkpoint may be missing
	{coordinator.ErrInterrupted, exitInterrupted},
	{sweep.ErrInterrupted, exitInterrupted},
}

// exitCode is the exit code of an error: 0 for nil, 2 for any problem of a configuration, or that of the first
// entry of exitCodes that the error matches, or 1.
func exitCode(err error) int {
	var problems *config.Error
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &problems):
		return exitUsage
	}
	for _, e := range exitCodes {
		if errors.Is(err, e.target) {
			return e.code
		}
	}
	return exitFailed
}

// mistaken reports whether an error is the user's: in a configuration, a name or data. A coordinator answers an
// order with such an error as a bad request; other errors are its own.
func mistaken(err error) bool {
	code := exitCode(err)
	return code == exitUsage || code == exitData
}

// remark tells what the user should know and what is no error, behind the word note or warning; in a log of JSON
// records it is a record.
func (a *app) remark(word, text string) {
	switch log := a.logger(a.err, hclog.Info); {
	case a.logFormat != "json":
		fmt.Fprintf(a.err, "%s: %s\n", word, text)
	case word == "warning":
		log.Warn(text)
	default:
		log.Info(text)
	}
}

// complain prints an error, and its hint in the next line; in a log of JSON records it is a record with the field
// hint.
func (a *app) complain(err error) {
	hint := config.HintOf(err)
	if hint == "" {
		hint = a.usualHint(err)
	}
	switch {
	case a.logFormat == "json":
		var fields []any
		if hint != "" {
			fields = append(fields, "hint", hint)
		}
		a.logger(a.err, hclog.Info).Error(err.Error(), fields...)
	case hint != "":
		fmt.Fprintf(a.err, "error: %v\nhint: %s\n", err, hint)
	default:
		fmt.Fprintf(a.err, "error: %v\n", err)
	}
}

// usualHint is the hint of an error that has none of its own; empty if there is nothing to say.
func (a *app) usualHint(err error) string {
	if errors.Is(err, syscall.ENOTDIR) {
		return "a folder cannot be where a file is: give another name, or move the file away"
	}
	var fault *fs.PathError
	folder := a.getenv("TMPDIR")
	if folder == "" || !errors.As(err, &fault) {
		return ""
	}
	if fault.Path == folder || strings.HasPrefix(fault.Path, filepath.Join(folder, "switchyard-")) {
		return "$TMPDIR is for temporary files: set it to a folder that is there and can be written, or unset it"
	}
	return ""
}
