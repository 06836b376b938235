package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/store"
)

// forms are what runs export writes.
var forms = []string{"csv", "tensorboard", "mlflow"}

// patienceWithServer is how long a request to a tracking server may take.
const patienceWithServer = 30 * time.Second

// exporting is what runs export was asked for: the form, its file or folder, and for MLflow the address of the
// server and the name of the experiment there. An empty file or folder is the usual one.
type exporting struct{ to, out, url, experiment string }

// runsExportCommand is `runs export`: metrics of a run for other programs.
func (a *app) runsExportCommand() *cobra.Command {
	var f exporting
	c := &cobra.Command{
		Use: "export NAME", Short: "Export the metrics of a run for other programs",
		Long: `Export the metrics of a run for other programs:

  csv          one table, NAME.csv or the file given by -o
  tensorboard  event files with every record, in the folder given by -o, or in
               runs/NAME/tb in place of those of training: tensorboard --logdir runs
  mlflow       a new run of the MLflow server at --url, with the configuration as
               parameters`,
		Args:              exactly("NAME"),
		ValidArgsFunction: a.completeRuns,
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.check(c); err != nil {
				return err
			}
			return a.missingRun(a.exportRun(c.Context(), args[0], f))
		},
	}
	c.Flags().StringVar(&f.to, "to", "csv", "format: "+strings.Join(forms, ", "))
	c.Flags().StringVarP(&f.out, "out", "o", "", "output file (csv) or folder (tensorboard)")
	c.Flags().StringVar(&f.url, "url", a.getenv("MLFLOW_TRACKING_URI"), "MLflow server, e.g. http://127.0.0.1:5000 "+
		"(default: $MLFLOW_TRACKING_URI)")
	c.Flags().StringVar(&f.experiment, "experiment", "switchyard", "MLflow experiment")
	a.jsonFlag(c)
	err := c.RegisterFlagCompletionFunc("to", cobra.FixedCompletions(forms, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err) // the flag is defined above
	}
	return c
}

// check returns a usage error for an unknown form, and for flags that mean nothing to the form.
func (f *exporting) check(c *cobra.Command) error {
	switch {
	case !slices.Contains(forms, f.to):
		return config.Usagef("--to %s: the forms are %s", f.to, strings.Join(forms, ", "))
	case f.to == "mlflow":
		return unused(c, "means nothing with --to mlflow: it writes no file", "out")
	}
	return unused(c, "is about a server, and --to "+f.to+" writes files", "url", "experiment")
}

// exportRun writes the metrics of a run in the form f.to, or sends them. Event files in the folder of a run that still
// writes its own, and a missing address of the server are usage errors.
func (a *app) exportRun(ctx context.Context, name string, f exporting) error {
	switch {
	case f.to == "csv":
		return a.exportCSV(name, f.out)
	case f.to == "tensorboard":
		out := cmp.Or(f.out, filepath.Join(a.runsDir, name, store.Folder))
		files, err := store.TensorBoard(a.runsDir, name, out)
		if errors.Is(err, store.ErrHeld) {
			return config.Hint(config.Usagef("run %s is running and writes event files itself", name),
				"all of its records: -o FOLDER")
		}
		if errors.Is(err, store.ErrEvents) {
			return config.Hint(config.Usagef("-o %s has event files of another run", out), "give each run a folder: -o %s",
				filepath.Join(out, name))
		}
		if err != nil {
			return err
		}
		if len(files) == 0 {
			return config.Usagef("run %s has no records: there is nothing to write event files of", name)
		}
		return a.result(written{files}, func() error {
			return a.printf("wrote    %s\nnext     tensorboard --logdir %s\n", strings.Join(files, "\n         "), out)
		})
	}
	if f.url == "" {
		return config.Usagef("--to mlflow needs the server: --url http://127.0.0.1:5000, or MLFLOW_TRACKING_URI")
	}
	settings, err := a.runConfig(name)
	if err != nil {
		return err
	}
	server := store.MLflow{URL: f.url, Experiment: f.experiment, Client: &http.Client{Timeout: patienceWithServer}}
	id, leftOut, err := server.Send(ctx, a.runsDir, name, settings)
	if err != nil && id != "" {
		return config.Hint(err, "the server has only a part of %s: delete run %s there, and export again", name, id)
	}
	if err != nil {
		return err
	}
	note := ""
	if leftOut > 0 {
		note = fmt.Sprintf("; %s that were not finite were left out", terminal.Count(leftOut, "value"))
	}
	at := f.url
	if u, err := url.Parse(at); err == nil {
		at = u.Redacted() // of a password
	}
	return a.result(sent{at, f.experiment, id, leftOut}, func() error {
		return a.printf("sent %s to %s as run %s%s\n", name, at, id, note)
	})
}

// sent is what runs export --to mlflow --json prints.
type sent struct {
	Server     string `json:"server"`
	Experiment string `json:"experiment"`
	Run        string `json:"run"`
	LeftOut    int    `json:"left_out"` // values that were not finite
}

// exportCSV writes the metrics of a run as a table, NAME.csv if out is empty. It refuses to replace a file of the
// run, and under the name that nobody gave one that is no such table.
func (a *app) exportCSV(name, out string) error {
	if out == "" {
		out = name + ".csv"
		if err := spareTable(out); err != nil {
			return err
		}
	}
	if _, err := store.Load(a.runsDir, name); err != nil {
		return err
	}
	if err := checkPlace(out); err != nil {
		return err
	}
	if err := a.spare(name, []string{out}, nil); err != nil {
		return err
	}
	if err := a.replaceFile(out, func(w io.Writer) error { return store.WriteCSV(w, a.runsDir, name) }); err != nil {
		return err
	}
	return a.wroteFiles(out)
}

// spareTable returns a usage error for a file that is there and does not begin as tables of metrics do.
func spareTable(path string) error {
	if _, err := os.Lstat(path); err != nil || store.IsTable(path) {
		return nil
	}
	return config.Hint(config.Usagef("%s exists, and no earlier export wrote it", path),
		"choose another name: -o FILE, which replaces a file")
}
