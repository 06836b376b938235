package job

import (
	"strings"

	"github.com/switchyard-ml/switchyard/config"
)

// Inputs are the paths of files, folders and patterns that a run on own data reads, its scaling included; nil where
// data are simulated.
func Inputs(c config.Config) []string {
	s := own(c)
	if s == nil {
		return nil
	}
	paths := strings.Split(s.Files, ",")
	if s.Normalise != "auto" && s.Normalise != "none" {
		paths = append(paths, s.Normalise)
	}
	return paths
}
