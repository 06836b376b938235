package cmd

import (
	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/envs/files"
)

func (a *app) dataConvertCommand() *cobra.Command {
	var flags readFlags
	var out target
	c := &cobra.Command{
		Use:   "convert IN... OUT",
		Short: "Write trajectories in another format",
		Long: `Write trajectories as .npz, as .csv with a column episode, or into a folder (a name that
ends in /) with one CSV file per episode. Missing values, parts of a split, states and
labels are kept; what the convention does not know is left out. OUT is a new file or folder.`,
		Example: "  " + a.invoked + " data convert runs/ all.npz --controls-after\n  " +
			a.invoked + " data convert long.csv pieces.npz --cut 200 --rename speed=y_speed,force=u_force",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) < 2 {
				return config.Hint(config.Usagef("data convert takes IN OUT, got %d arguments", len(args)), "%s --help says more",
					c.CommandPath())
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			out.path = args[len(args)-1]
			return a.inspecting(args[:len(args)-1], func(in []string) error {
				if err := checkConversion(in, out); err != nil {
					return err
				}
				d, err := flags.read(in)
				if err != nil {
					return err
				}
				if err := a.writeData(d, out.path); err != nil {
					return err
				}
				return a.wrote(d, out.path)
			})
		},
	}
	flags.add(c)
	out.addForce(c)
	a.jsonFlag(c)
	return c
}

// checkConversion refuses an output that would overwrite a file, or that is one of the inputs.
func checkConversion(in []string, out target) error {
	read, err := files.Paths(in)
	if err != nil {
		return dataFault(err)
	}
	return out.check(read)
}
