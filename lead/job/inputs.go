package job

import (
	"slices"
	"strings"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/envs/files"
)

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
