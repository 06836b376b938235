package job

import (
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
)

// version is set by the linker in releases.
var version = "dev"

// Version is the version of a release, or dev.
func Version() string { return version }

// Revision is the commit that the program was built from, with a + if files differed from the commit; empty if the
// build did not record it.
func Revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	revision, changed := "", ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value
		case "vcs.modified":
			if s.Value == "true" {
				changed = "+"
			}
		}
	}
	if revision == "" {
		return ""
	}
	return revision + changed
}

// Name is the version of the program with the beginning of its revision.
func Name() string {
	revision := Revision()
	return strings.TrimSpace(Version() + " " + revision[:min(len(revision), 12)])
}

// Versions are what run.json records about the program.
func Versions() map[string]string {
	return map[string]string{
		"switchyard": Version(), "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH,
		"kernels": kernel.Active().String(),
	}
}
