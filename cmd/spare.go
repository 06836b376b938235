package cmd

import (
	"os"
	"path/filepath"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/store"
)

// spare refuses outputs that would replace what a run of that name or this command reads, by whatever path, or that the
// run would read as its data from then on. Two outputs may not be one file.
func (a *app) spare(name string, outputs, read []string) error {
	c, err := a.runConfig(name)
	if err != nil {
		return err
	}
	for i, path := range outputs {
		what := ""
		switch {
		case files.Reads(job.Inputs(c), path):
			what = "is, or would be, data of the run " + name
		case files.Reads(read, path):
			what = "is read by this command"
		case a.keeps(name, path):
			what = "belongs to the run " + name
		}
		for _, other := range outputs[:i] {
			if what == "" && filepath.Clean(other) == filepath.Clean(path) {
				what = "is there twice"
			}
		}
		if what != "" {
			return config.Hint(config.Usagef("--out %s: the file %s", path, what), "choose another name")
		}
	}
	return nil
}

// keeps reports whether a file is one of those that a run lives by: in its folder, or a checkpoint.
func (a *app) keeps(name, path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	for _, pattern := range []string{"*", filepath.Join(store.Checkpoints, "*")} {
		list, err := filepath.Glob(filepath.Join(a.runsDir, name, pattern))
		if err != nil {
			return false
		}
		for _, own := range list {
			if of, err := os.Stat(own); err == nil && os.SameFile(info, of) {
				return true
			}
		}
	}
	return false
}
