package cmd

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/cluster"
	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/lab/bench"
	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/ops"
)

// errUnfit is returned when a check says that this machine cannot train as it should.
var errUnfit = errors.New("this machine is not fit yet")

// doctorCommand is `doctor`: it checks whether this machine is ready for training. It asks a broker only if one is
// named.
func (a *app) doctorCommand() *cobra.Command {
	var link connection
	keysDir := filepath.Join("deploy", "secrets")
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check whether this machine is ready for training",
		Long: `Check this machine in a second: processor and kernels, their arithmetic, memory, the disk of the runs, clock, ports and keys;
with --nats also the broker and its coordinator. Each check prints one line, and says what to do if something is wrong. The exit
code is 1 if training would fail or give wrong results here.`,
		Example: "  " + a.invoked + " doctor\n  " + a.invoked + " doctor --nats nats://broker:4222 --nkey worker.nk",
		Args:    exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := link.unnamed(c); err != nil {
				return err
			}
			findings := []bench.Finding{
				{Check: "program", State: bench.OK, Found: job.Name()},
				bench.Processor(a.cores), bench.Numerics(), bench.Memory(), bench.Disk(a.runsDir), bench.Clock(time.Now()),
				bench.Ports(map[string]string{"127.0.0.1:4222": "--listen", "127.0.0.1:8080": "--web"}), a.checkKeys(keysDir),
			}
			if link.url != "" {
				if err := link.check(c); err != nil {
					return err
				}
				findings = append(findings, a.checkBroker(link)...)
			}
			return a.diagnose(findings)
		},
	}
	c.Flags().StringVar(&keysDir, "keys", keysDir, "folder of the keys, if there is one")
	link.add(c, a)
	a.jsonFlag(c)
	return c
}

// diagnose prints the findings with what to do, and returns errUnfit if one is bad. Doubtful findings are no error:
// training works in spite of them, if more slowly or less safely.
func (a *app) diagnose(findings []bench.Finding) error {
	bad := 0
	table := terminal.NewTable("check", "", "found").Left(1, 2)
	for _, f := range findings {
		table.Row(f.Check, string(f.State), f.Found)
		if f.Do != "" {
			table.Row("", "do", f.Do)
		}
		if f.State == bench.Bad {
			bad++
		}
	}
	err := a.result(findings, func() error {
		_, err := table.WriteTo(a.out)
		return err
	})
	if err == nil && bad > 0 {
		err = fmt.Errorf("%w: %s of %d failed", errUnfit, terminal.Count(bad, "check"), len(findings))
	}
	return err
}

// soon is the time before its end at which a certificate is to be made anew.
const soon = 30 * 24 * time.Hour

// checkKeys looks at a folder of keys: that it can be read, that other users cannot look into it, and that the
// broker's certificate holds for a while. There need not be a folder, nor, in one that was handed out to a role, a
// certificate.
func (a *app) checkKeys(dir string) bench.Finding {
	f := bench.Finding{Check: "keys", State: bench.OK}
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		f.Found = "none in " + dir + ": one machine needs none; for several: " + a.invoked + " init"
		return f
	}
	list, listErr := cluster.List(dir)
	keys := len(list)
	if n, part := cluster.HandedOut(dir); part && errors.Is(listErr, cluster.ErrNoKey) {
		keys, listErr = n, nil
	}
	if err := errors.Join(err, listErr); err != nil {
		f.State, f.Found, f.Do = bench.Bad, err.Error(), "restore the folder from a backup, or create it again: "+
			a.line("init", "--dir", dir)
		return f
	}
	f.Found = fmt.Sprintf("%s in %s", terminal.Count(keys, "key"), dir)
	if info.Mode().Perm()&0o077 != 0 {
		f.State, f.Do = bench.Doubtful, "other users may look into the folder: chmod 700 "+terminal.Quoted(dir)
	}
	if data, err := os.ReadFile(filepath.Join(dir, cluster.Server)); err == nil { // else it is the part of another role
		if state, do := certificate(data, time.Now()); state != bench.OK {
			f.State, f.Do = state, do+": "+a.line("init", "--dir", dir, "--renew-server-cert")
		}
	}
	return f
}

// certificate judges the broker's certificate. With one that does not hold now, nobody connects.
func certificate(data []byte, now time.Time) (state bench.State, do string) {
	block, _ := pem.Decode(data)
	if block == nil {
		return bench.Bad, cluster.Server + " is no certificate"
	}
	c, err := x509.ParseCertificate(block.Bytes)
	switch {
	case err != nil:
		return bench.Bad, cluster.Server + " is no certificate"
	case now.After(c.NotAfter):
		return bench.Bad, "the broker's certificate ended on " + day(c.NotAfter)
	case now.Before(c.NotBefore):
		return bench.Bad, "the broker's certificate begins on " + day(c.NotBefore) + "; set the clock, or make another"
	case c.NotAfter.Sub(now) < soon:
		return bench.Doubtful, "the broker's certificate ends on " + day(c.NotAfter)
	}
	return bench.OK, ""
}

// usualPayload is the limit of a NATS server that says nothing else; chunks are made for it.
const usualPayload = 1 << 20

// checkBroker connects as a command would, and asks for the coordinator. It returns the finding about the broker
// and, if that answers, one about the coordinator.
func (a *app) checkBroker(link connection) []bench.Finding {
	// Bad until the broker has answered.
	f := bench.Finding{Check: "broker", State: bench.Bad}
	bus, err := link.connect("doctor", hclog.NewNullLogger())
	if err != nil {
		f.Found, f.Do = err.Error(), "give the key and the authority that belong to it: --nkey, --tls-ca"
		return []bench.Finding{f}
	}
	defer bus.Close()
	var coordinator bench.Finding
	err = a.untilSignal(a.err, "stopping", func(ctx context.Context) error {
		if err := reach(ctx, bus, link.url); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, reachLimit)
		defer cancel()
		// A flush is a message to the broker and back.
		began := time.Now()
		if err := bus.Conn().FlushWithContext(ctx); err != nil {
			return fmt.Errorf("the broker does not answer: %w", err)
		}
		f.State, f.Found = bench.OK, fmt.Sprintf("%s: answers in %s, messages of up to %s", link.url,
			milliseconds(time.Since(began).Seconds()), terminal.Bytes(int64(bus.MaxPayload())))
		if bus.MaxPayload() < usualPayload {
			f.State, f.Do = bench.Doubtful, fmt.Sprintf("set cluster.chunk below %d, or raise max_payload of the NATS server",
				bus.MaxPayload())
		}
		coordinator = a.checkCoordinator(ctx, ops.NewClient(bus.Conn()))
		return nil
	})
	if err != nil {
		f.Found, f.Do = err.Error(), "start one: "+a.invoked+" broker; or look at address, key and certificate"
		return []bench.Finding{f}
	}
	return []bench.Finding{f, coordinator}
}

// checkCoordinator asks for the list of runs. No answer is doubtful rather than bad: the key may be a worker's,
// which may not ask.
func (a *app) checkCoordinator(ctx context.Context, client *ops.Client) bench.Finding {
	list, err := client.Runs(ctx)
	if err != nil {
		return bench.Finding{
			Check: "coordinator", State: bench.Doubtful, Found: "none answers there (" + err.Error() + ")",
			Do: "start one: " + a.invoked + " coordinator; a worker's key may not ask, and needs no answer",
		}
	}
	return bench.Finding{Check: "coordinator", State: bench.OK, Found: "answers; it has " +
		terminal.Count(len(list.Runs), "run")}
}

// healthTimeout is the longest wait for the answer of a process on this machine.
const healthTimeout = 4 * time.Second

// healthCommand is `health`: exit code 0 if a coordinator answers or a worker has touched its file, 1 if not.
func (a *app) healthCommand() *cobra.Command {
	var address, file string
	c := &cobra.Command{
		Use:   "health",
		Short: "Check the health of a coordinator or worker on this machine",
		Long: `Check the health of a coordinator on this machine: exit code 0 if it answers, 1 if not.
Meant for health checks of containers, which have no other client. /healthz answers while
the process lives, /readyz only while it is connected to its broker.

Workers do not listen. A worker started with --health-file touches that file while all is
well; with --file the exit code says whether it did so recently.`,
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			if file != "" {
				if err := unused(c, "means nothing with --file: no address is asked", "url"); err != nil {
					return err
				}
				answer, err := lately(file, time.Now())
				if err != nil {
					return err
				}
				return a.result(wellness{true, answer}, func() error { return a.printf("%s\n", answer) })
			}
			ctx, cancel := context.WithTimeout(context.Background(), healthTimeout)
			defer cancel()
			answer, err := health(ctx, address)
			if err != nil {
				return err
			}
			return a.result(wellness{true, answer}, func() error { return a.printf("%s\n", answer) })
		},
	}
	a.jsonFlag(c)
	c.Flags().StringVar(&address, "url", "http://127.0.0.1:8080/healthz", "address to query")
	c.Flags().StringVar(&file, "file", "", "file that a worker touches, instead of an address")
	return c
}

// wellness is what health --json prints of a process that is well; of one that is not, the error says why.
type wellness struct {
	Well   bool   `json:"well"`
	Answer string `json:"answer"`
}

// touchedWithin is how long ago the health file of a worker that is well was touched at most.
const touchedWithin = 30 * time.Second

// lately returns an answer if a health file was touched a short time ago, and errUnwell if it was not or is not
// there.
func lately(path string, now time.Time) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("%w: look for the health file: %w", errUnwell, err)
	}
	if ago := now.Sub(info.ModTime()); ago > touchedWithin {
		return "", fmt.Errorf("%w: the worker has not touched %s for %s", errUnwell, path, terminal.Short(ago))
	}
	return "well", nil
}

// errUnwell is returned for an answer that is not 200, and for a worker that gives no sign of life.
var errUnwell = errors.New("not well")

// health returns the first line of a 200 answer, and errUnwell for any other status. An address that is no URL of
// HTTP is a usage error.
func health(ctx context.Context, address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", config.Usagef("--url %q: must be like http://127.0.0.1:8080/healthz", address)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", config.Usagef("--url %q: %w", address, err)
	}
	// a nil Proxy: the process is on this machine
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return "", fmt.Errorf("ask for the health: %w", err)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, 200))
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return "", fmt.Errorf("read the health: %w", err)
	}
	answer, _, _ := strings.Cut(string(body), "\n")
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%w: %s answers %s: %s", errUnwell, address, response.Status, answer)
	}
	return answer, nil
}
