package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/internal/terminal"
)

// healthTimeout is the longest wait for the answer of a process on this machine.
const healthTimeout = 4 * time.Second

func (a *app) healthCommand() *cobra.Command {
	var address, file string
	c := &cobra.Command{
		Use:   "health",
		Short: "Ask a coordinator or worker on this machine whether it is well",
		Long: `Ask a coordinator on this machine whether it is well: exit code 0 if it answers,
1 if not. For health checks of containers, which have no other program to ask with.
/healthz answers while the process lives, /readyz only while its broker is connected.

Workers listen on nothing. One that is started with --health-file touches that file as
long as it does what it should; with --file the exit code says whether that was lately.`,
		Args: exactly(),
		RunE: func(*cobra.Command, []string) error {
			if file != "" {
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
	c.Flags().StringVar(&address, "url", "http://127.0.0.1:8080/healthz", "what to ask")
	c.Flags().StringVar(&file, "file", "", "the file that a worker touches, instead of an address")
	return c
}

// wellness is what health --json prints of a process that is well; of one that is not, the error says why.
type wellness struct {
	Well   bool   `json:"well"`
	Answer string `json:"answer"`
}

// touchedWithin is how long ago the health file of a worker that is well was touched at most.
const touchedWithin = 30 * time.Second

// lately returns an answer if a health file was touched a short time ago.
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

// health returns the first line of a 200 answer.
func health(ctx context.Context, address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", config.Usagef("--url %q: it takes e.g. http://127.0.0.1:8080/healthz", address)
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
