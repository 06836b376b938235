package cmd

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
)

// version is set by the linker in releases.
var version = "dev"

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, its revision, and the kernels in use",
		Args:  exactly(),
		RunE: func(*cobra.Command, []string) error {
			revision := gitRevision()
			if revision == "" {
				revision = "unknown revision"
			}
			return a.printf("switchyard %s (%s), %s %s/%s, %s kernels\n",
				version, revision, runtime.Version(), runtime.GOOS, runtime.GOARCH, kernel.Active())
		},
	}
}

// gitRevision is the commit that the program was built from, with a + if files
// were changed since; empty if the build did not record it.
func gitRevision() string {
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

// versions are what run.json records of the program.
func versions() map[string]string {
	return map[string]string{
		"switchyard": version, "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH,
		"kernels": kernel.Active().String(),
	}
}
