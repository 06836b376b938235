package cmd

import (
	"errors"
	"net"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/wire"
)

// trainFlags are the flags that train and resume share.
type trainFlags struct {
	// Workers of this process, and shards that each of them computes at a time.
	workers, slots int
	// Address of the embedded broker, empty: no other process joins; and the folder of its keys, empty: it asks for
	// none.
	listen, keys string
	join         clusterFlags
	share        memoryFlag
	events       bool
	page         webFlags // of this training; its address is empty unless it is asked for
	url          string   // of the page, when it is there
}

// add defines the flags that train, resume and sweep share. cores is the default number of workers.
func (f *trainFlags) add(c *cobra.Command, cores int) {
	c.Flags().IntVar(&f.workers, "workers", cores, "workers in this process; changes speed, never results")
	c.Flags().IntVar(&f.slots, "slots", 1, "shards that a worker computes at a time")
	c.Flags().StringVar(&f.listen, "listen", "", "address at which the embedded broker accepts outside workers, e.g. "+
		"127.0.0.1:4222 (default: none)")
	c.Flags().StringVar(&f.keys, "keys", "", "folder of keys that outside workers must use (default: none; anyone "+
		"may do anything)")
	f.share.add(c)
	f.join.add(c, "form a cluster of the embedded broker and other servers: address for their routes")
}

// leadNames are the flags of a command that leads a sweep: those of its workers and of its page.
func leadNames() []string {
	c := &cobra.Command{}
	new(trainFlags).add(c, 1)
	new(webFlags).add(c)
	var list []string
	c.Flags().VisitAll(func(f *pflag.Flag) { list = append(list, f.Name) })
	return list
}

// addPage adds the flags of the page of a training, which is off unless --web is given, and that of event files.
func (f *trainFlags) addPage(c *cobra.Command) {
	addEvents(c, &f.events)
	c.Flags().StringVar(&f.page.listen, "web", "", "address of a web page that shows the run, e.g. 127.0.0.1:8080 "+
		"(default: none)")
	f.page.addToken(c)
	c.Flags().SetNormalizeFunc(formerNames)
}

// formerNames accepts the name that --web of train and resume had in earlier releases.
func formerNames(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	if name == "listen-http" {
		name = "web"
	}
	return pflag.NormalizedName(name)
}

// addEvents adds the flag that turns event files off.
func addEvents(c *cobra.Command, to *bool) {
	c.Flags().BoolVar(to, "tensorboard", true, "write event files into tb in the run's folder during training")
}

// mostWorkers is how many workers of its process an embedded broker takes beside all others.
const mostWorkers = 1000

// tooMany returns a usage error if a flag asks for more workers than the broker of this process takes: the others would
// try to connect for ever.
func tooMany(flag string, workers int) error {
	if workers > mostWorkers {
		return config.Usagef("--%s %d: at most %d in one process", flag, workers, mostWorkers)
	}
	return nil
}

// check returns a usage error for flags that contradict each other, or that have no effect: what is for outside
// workers without --listen, and a token without a page. No workers are right only if others can join.
func (f *trainFlags) check() error {
	if f.workers < 0 || f.workers == 0 && f.listen == "" || f.slots < 1 {
		return config.Usagef("%s with %s: at least one of each is required (0 workers only with --listen)",
			terminal.Count(f.workers, "worker"), terminal.Count(f.slots, "slot"))
	}
	if err := tooMany("workers", f.workers); err != nil {
		return err
	}
	if f.slots > wire.MaxLeases {
		return config.Usagef("--slots %d: at most %d", f.slots, wire.MaxLeases)
	}
	if err := errors.Join(f.share.check(), f.join.check()); err != nil {
		return err
	}
	// Workers of this process hand their vectors over directly; memory is shared with those of other processes
	// only.
	if f.listen == "" && f.share.folder != "" {
		return config.Usagef("--%s %s: no outside worker can join without --listen", memoryName, f.share.folder)
	}
	if f.listen == "" && f.join.listen != "" {
		return config.Usagef("--cluster %s: no outside worker can join without --listen", f.join.listen)
	}
	if f.listen == "" && f.keys != "" {
		return config.Usagef("--keys %s: no outside worker can join without --listen", f.keys)
	}
	if (f.page.listen == "" || f.page.listen == "none") && f.page.tokenFile != "" {
		return config.Usagef("--web-token-file %s: has no effect without a page (--web)", f.page.tokenFile)
	}
	if f.listen == "" {
		return nil
	}
	if _, _, err := net.SplitHostPort(f.listen); err != nil {
		return config.Hint(config.Usagef("--listen %s: %w", f.listen, err), "e.g. --listen 127.0.0.1:4222")
	}
	return nil
}
