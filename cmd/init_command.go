package cmd

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/cluster"
	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/internal/terminal"
)

// maxKeys is the most keys that init numbers: a broker takes as many connections.
const maxKeys = 1000

// renewal is how long before its expiry a certificate of the broker is reported as old.
const renewal = 30 * 24 * time.Hour

// initCommand is `init`: it creates the keys and certificates of a cluster that are missing, and prints no secret.
func (a *app) initCommand() *cobra.Command {
	var cfg cluster.InitConfig
	var handOut map[string]string
	c := &cobra.Command{
		Use:   "init",
		Short: "Create the keys and certificates of a cluster",
		Long: `Create the credentials of a cluster: a key for each role, the broker's list of
permissions, a certificate authority with a certificate for the broker, and the token of
the page. Existing files are kept, so the command can be run again at any time. To replace
or revoke a key, use ` + "`" + a.invoked + " keys`" + `. No secret is printed.

--workers N creates a key for each of N workers, so that a lost key can be revoked alone.
Give each machine its file, or the whole folder if the workers share a machine.

docs/security.md says what each role may do, and what to do when a key is lost.`,
		Example: "  " + a.invoked + " init\n  " + a.invoked + " init --host broker.example.org --host 10.0.0.7\n" +
			"  " + a.invoked + " init --workers 8\n  " + a.invoked + " init --worker lab-3",
		Args: exactly(),
		RunE: func(*cobra.Command, []string) error { return a.initKeys(cfg, handOut, time.Now()) },
	}
	a.jsonFlag(c)
	flags := c.Flags()
	flags.StringVar(&cfg.Dir, "dir", filepath.Join("deploy", "secrets"), "folder of the keys")
	flags.StringArrayVar(&cfg.Hosts, "host", nil, "`NAME` or address of the broker's machine, for its certificate; "+
		"may be repeated")
	flags.IntVar(&cfg.Numbered, "workers", 0, "create a key for each of this many workers, worker-1.nk and so on, "+
		"instead of one for all")
	flags.StringArrayVar(&cfg.Workers, "worker", nil, "`NAME` of another worker key to create, worker-NAME.nk; may be "+
		"repeated")
	flags.BoolVar(&cfg.Readable, "readable", false, "let containers read the keys: files readable by all users, in a "+
		"folder readable by one")
	flags.StringToStringVar(&handOut, "hand-out", nil, "copy what a role needs into a separate folder: "+
		"`ROLE=FOLDER`; may be repeated")
	flags.Lookup("hand-out").DefValue = "" // not []
	flags.BoolVar(&cfg.RenewServer, "renew-server-cert", false, "create a new broker certificate, which includes --host")
	c.RegisterFlagCompletionFunc("hand-out", func(*cobra.Command, []string, string) ([]cobra.Completion,
		cobra.ShellCompDirective,
	) {
		var words []cobra.Completion
		for _, role := range cluster.Roles() {
			words = append(words, role+"=")
		}
		return words, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	})
	return c
}

// initKeys makes what is missing and says what there is. A number out of range, a host or a worker whose name is
// none, and an unknown role are usage errors. now is the time from which certificates hold. With --json keys are
// handed out as well, without the text.
func (a *app) initKeys(cfg cluster.InitConfig, handOut map[string]string, now time.Time) error {
	if cfg.Numbered < 0 || cfg.Numbered > maxKeys {
		return config.Usagef("--workers %d: between 0 and %d", cfg.Numbered, maxKeys)
	}
	// From here on something may have been made; what exists is never replaced.
	report, err := cluster.Init(cfg, now)
	switch {
	case errors.Is(err, cluster.ErrHost), errors.Is(err, cluster.ErrWorker):
		return config.Usage(err)
	case errors.Is(err, cluster.ErrDamaged):
		return config.Hint(err, "put the file back from a copy; or remove it, and its certificates with it, to have it "+
			"made again (docs/security.md)")
	case err != nil:
		return err
	}
	if a.asJSON {
		err := a.silenced(func() error { return a.tellKeys(cfg, handOut, report, now) })
		return errors.Join(err, a.printJSON(keyReport(cfg.Dir, report, keyWarnings(report, now))))
	}
	return a.tellKeys(cfg, handOut, report, now)
}

// madeKeys is what init --json prints.
type madeKeys struct {
	Folder      string            `json:"folder"`
	Files       map[string]string `json:"files"` // name to made, kept or renewed
	Hosts       []string          `json:"hosts"`
	ServerUntil time.Time         `json:"certificate_until"`
	CAUntil     time.Time         `json:"authority_until"`
	Warnings    []string          `json:"warnings"`
}

// keyReport is the result for programs: r without secrets, and times in UTC. Lists are empty rather than null.
func keyReport(dir string, r *cluster.Report, warnings []string) madeKeys {
	m := madeKeys{
		Folder: dir, Files: map[string]string{}, Hosts: r.Hosts, ServerUntil: r.ServerUntil.UTC(),
		CAUntil: r.CAUntil.UTC(), Warnings: append([]string{}, warnings...),
	}
	for _, f := range r.Files {
		m.Files[f.Name] = f.State.String()
	}
	return m
}

// tellKeys prints what there is, hands out what was asked for, and says how to use the rest.
func (a *app) tellKeys(cfg cluster.InitConfig, handOut map[string]string, report *cluster.Report, now time.Time) error {
	if err := a.printf("keys in %s\n\n", cfg.Dir); err != nil {
		return err
	}
	if _, err := keyTable(report).WriteTo(a.out); err != nil {
		return err
	}
	if err := a.printf("\nbroker   %s; certificate until %s, its authority until %s\n",
		strings.Join(report.Hosts, ", "), day(report.ServerUntil), day(report.CAUntil)); err != nil {
		return err
	}
	for _, warning := range keyWarnings(report, now) {
		if err := a.printf("warning: %s\n", warning); err != nil {
			return err
		}
	}
	if len(handOut) > 0 {
		return a.handOut(cfg.Dir, handOut)
	}
	return a.afterInit(cfg, report)
}

// handOut puts what each role needs into a folder of its own, in the order of the roles' names. An unknown role, and
// the folder of the keys itself, are usage errors; roles before have been handed out.
func (a *app) handOut(dir string, folders map[string]string) error {
	for _, role := range slices.Sorted(maps.Keys(folders)) {
		err := cluster.HandOut(dir, role, folders[role])
		if errors.Is(err, cluster.ErrRole) || errors.Is(err, cluster.ErrSource) {
			return config.Usage(err)
		}
		if err != nil {
			return err
		}
		if err := a.printf("handed out to the %s: %s\n", role, folders[role]); err != nil {
			return err
		}
	}
	return nil
}

// keyFiles say for each file what it is and where it belongs. A file that is not listed is the key of one worker.
var keyFiles = map[string][2]string{
	cluster.CoordinatorKey: {"key of coordinators", "coordinator"},
	cluster.OperatorKey:    {"key of people: submit, runs", "your machine"},
	cluster.WorkerKey:      {"key of workers", "workers"},
	cluster.Auth:           {"permissions (public keys)", "broker"},
	cluster.PageToken:      {"password of the page", "coordinator"},
	cluster.CAKey:          {"key of the authority", "nowhere: keep it safe"},
	cluster.CA:             {"certificate of the authority", "all, with TLS"},
	cluster.ServerKey:      {"key of the broker's certificate", "broker, with TLS"},
	cluster.Server:         {"certificate of the broker", "broker, with TLS"},
	cluster.TLS:            {"TLS of a NATS server", "broker, with TLS"},
	cluster.RouteKey:       {"key of the routes of a cluster", "brokers of a cluster: as good as all keys"},
	cluster.Route:          {"certificate of the routes", "brokers of a cluster"},
	cluster.RoutesConfig:   {"routes of a NATS server", "NATS servers of a cluster"},
}

// keyTable lists the files with their state: made, kept or renewed.
func keyTable(report *cluster.Report) *terminal.Table {
	table := terminal.NewTable("file", "", "what it is", "goes to").Left(1, 2, 3)
	for _, f := range report.Files {
		about, known := keyFiles[f.Name]
		if !known {
			about = [2]string{"key of one worker, or of one machine's", "that one"}
		}
		table.Row(f.Name, f.State.String(), about[0], about[1])
	}
	return table
}

// keyWarnings are the problems of the keys, a sentence each: a certificate that lacks a host or ends soon, and a
// folder that other users can read.
func keyWarnings(report *cluster.Report, now time.Time) []string {
	var list []string
	if len(report.Absent) > 0 {
		list = append(list, fmt.Sprintf("%s does not name %s: make it again with --renew-server-cert",
			cluster.Server, strings.Join(report.Absent, ", ")))
	}
	if left := report.ServerUntil.Sub(now); left < renewal {
		list = append(list, fmt.Sprintf("%s ends %s: make it again with --renew-server-cert", cluster.Server,
			day(report.ServerUntil)))
	}
	if report.Exposed {
		list = append(list, "other users of this machine can read the keys: close the folder with chmod 700")
	}
	return list
}

// day writes the date of a time in UTC.
func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// afterInit prints how to use the keys: a command line for each role, with the first of the hosts as the broker's.
func (a *app) afterInit(cfg cluster.InitConfig, report *cluster.Report) error {
	// A host that was not named now may have been named before: then the certificate has it.
	host := "localhost"
	for _, name := range append(slices.Clone(cfg.Hosts), report.Hosts...) {
		if !cluster.AlwaysHost(name) {
			host = name
			break
		}
	}
	// The usual port of NATS.
	url := net.JoinHostPort(host, "4222")
	return a.printf(`
next, on machines of your own, each with the files that go to it
  broker       %[1]s broker --listen 0.0.0.0:4222 --keys %[2]s
  coordinator  %[1]s coordinator --nats nats://%[3]s --nkey %[4]s
  worker       %[1]s worker --nats nats://%[3]s --nkey %[5]s
  you          %[1]s submit fhn --nats nats://%[3]s --nkey %[6]s
with TLS: --tls for the broker, --tls-ca %[7]s for all others
Containers need nothing of this: docker compose up makes keys of its own.
`, a.invoked, terminal.Quoted(cfg.Dir), url, cluster.CoordinatorKey, workerKey(report), cluster.OperatorKey, cluster.CA)
}

// workerKey is a key with which a worker can connect: that of all workers where there is one, else the first of one.
func workerKey(report *cluster.Report) string {
	first := ""
	for _, f := range report.Files {
		switch _, known := keyFiles[f.Name]; {
		case f.Name == cluster.WorkerKey:
			return f.Name
		case !known && first == "":
			first = f.Name
		}
	}
	return first
}
