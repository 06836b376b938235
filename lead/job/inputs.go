package job

import (
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/wire"
)

// The job that workers are sent is the configuration, and nothing else: the largest one has to fit.
const _ = uint(wire.MaxJob - config.MaxSize)

// Fits returns a usage error for a configuration that is too large to be sent to workers, or would be with so many
// bytes more. Only a long list of paths makes one so large.
func Fits(c config.Config, more int) error {
	size := len(c.YAML()) + more
	if own(c) == nil || size <= config.MaxSize {
		return nil
	}
	paths := terminal.Group(strings.Count(own(c).Files, ",") + 1)
	return config.Hint(config.Usagef("env.files lists %s paths: the configuration would have %s bytes, more than the %s "+
		"allowed", paths, terminal.Group(size), terminal.Group(config.MaxSize)),
		"quote a glob, e.g. 'data/*.csv', or name the folder")
}

// Listed joins paths to a value of env.files. A path with a comma, which separates paths there, is a usage error. So is
// one that is not in UTF-8, as a configuration is.
func Listed(paths []string) (string, error) {
	for _, p := range paths {
		if err := nameable(p); err != nil {
			return "", err
		}
	}
	return strings.Join(paths, ","), nil
}

// nameable returns a usage error for a path that env.files cannot name.
func nameable(path string) error {
	if !utf8.ValidString(path) {
		return config.Hint(config.Usagef("%q: env.files cannot name a path that is not in UTF-8", path),
			"rename the file or its folder")
	}
	if !strings.Contains(path, ",") {
		return nil
	}
	hint := "rename the file, or give its folder"
	if strings.Contains(filepath.Dir(path), ",") {
		hint = "rename the folder"
	}
	return config.Hint(config.Usagef("%s: env.files cannot name a path with a comma, which separates paths", path), "%s",
		hint)
}

// Torn finds a path with commas that is there, in a list that was split at commas, where the parts are not there; empty
// if there is none.
func Torn(parts []string) string {
	const most = 8 // parts of one path
	there := func(path string) bool {
		found, err := filepath.Glob(path)
		return err == nil && len(found) > 0
	}
	for i, p := range parts {
		if there(p) {
			continue
		}
		for j := i + 2; j <= min(len(parts), i+most); j++ {
			if whole := strings.Join(parts[i:j], ","); there(whole) {
				return whole
			}
		}
	}
	return ""
}

// Inputs are the paths of files, folders and patterns that a run on own data reads, its scaling included; nil where
// data are simulated. Patterns are not resolved, and nothing is checked.
func Inputs(c config.Config) []string {
	s := own(c)
	if s == nil {
		return nil
	}
	paths := strings.Split(s.Files, ",")
	if !slices.Contains([]string{"auto", files.EachRecording, "none"}, s.Normalise) {
		paths = append(paths, s.Normalise)
	}
	return paths
}
