package cmd

import (
	"cmp"
	"errors"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/web"
)

// webFlags set the address of the page and the file with its token.
type webFlags struct {
	listen, tokenFile string
	flag              string        // that sets listen; empty: web
	sweeps            *web.Sweeps   // nil: the page has none
	model             web.ModelFunc // nil: the page shows no models
}

func (f *webFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.listen, "web", "127.0.0.1:8080", "address of the page and the metrics; none for neither")
	c.Flags().StringVar(&f.tokenFile, "web-token-file", "", "file with the token that the page asks for; needed on "+
		"addresses that other machines reach, and to stop runs from the page")
}

// open listens on the address of the page. It returns nil for --web none.
func (f *webFlags) open(source web.Source, runsDir string, log hclog.Logger) (*web.Server, error) {
	if f.listen == "none" {
		return nil, nil
	}
	flag := cmp.Or(f.flag, "web")
	if err := listenAddress(flag, f.listen, 8080); err != nil {
		return nil, err
	}
	token := ""
	if f.tokenFile != "" {
		err := secretFile("web-token-file", f.tokenFile)
		if err != nil {
			return nil, err
		}
		if token, err = web.ReadToken(f.tokenFile); err != nil {
			return nil, config.Usage(err)
		}
	}
	server, err := web.Listen(f.listen, web.Config{
		Source: source, Sweeps: f.sweeps, Model: f.model, Dir: runsDir,
		Token: token, Version: job.Version(), Log: log.Named("web"),
	})
	switch {
	case errors.Is(err, web.ErrToken):
		return nil, config.Usage(err)
	case err != nil:
		return nil, config.Hint(err, "--%s takes another address, e.g. 127.0.0.1:8081, or none", flag)
	}
	return server, nil
}
