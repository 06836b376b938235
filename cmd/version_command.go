package cmd

import (
	"runtime"

	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
	"github.com/switchyard-ml/switchyard/lead/job"
)

func (a *app) versionCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version, its revision, and the kernels in use",
		Args:  exactly(),
		RunE: func(*cobra.Command, []string) error {
			revision := job.Revision()
			if revision == "" {
				revision = "unknown revision"
			}
			return a.result(job.Versions(), func() error {
				return a.printf("switchyard %s (%s), %s %s/%s, %s kernels\n",
					job.Version(), revision, runtime.Version(), runtime.GOOS, runtime.GOARCH, kernel.Active())
			})
		},
	}
	a.jsonFlag(c)
	return c
}
