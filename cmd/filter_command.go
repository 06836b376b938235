package cmd

import (
	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard"
)

func (a *app) filterCommand() *cobra.Command {
	var f asking
	c := a.question("filter NAME", "Infer latent states from recordings",
		`Infer the latent state and the mixing weights of each step of recordings. Files hold
mean and sd [steps, states] and weights [steps, regimes].

With --in -, observations come on stdin as JSON lines, [1.2, null] or
{"observation": [1.2, null], "controls": [0.5]}, and each is answered by a line at once.
serve --model does the same over HTTP and NATS.`,
		"  "+a.invoked+" filter mine --in data.npz --out states.npz\n  sensor | "+a.invoked+" filter mine --in -",
		func(name string) error {
			run, err := a.open(&f, name)
			if err != nil {
				return err
			}
			if len(f.data) == 1 && f.data[0] == "-" {
				return a.filterLines(run, a.in)
			}
			list, _, err := a.recordings(&f, name, run)
			if err != nil {
				return err
			}
			answers, err := each(list, func(s switchyard.Series) (switchyard.Filtering, error) { return run.Filter(s, f.seed) })
			if err != nil {
				return err
			}
			return a.tell(&f, switchyard.Filterings(list, answers))
		})
	f.add(c, "filter")
	a.jsonFlag(c)
	return c
}
