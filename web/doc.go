// Package web serves the page that shows runs live, the numbers of the page as JSON, and metrics for Prometheus:
//
//	/                             the page; needs no token, since it contains no data
//	/healthz                      the process lives
//	/readyz                       the broker is connected
//	/metrics                      Prometheus
//	/api/about                    what this server can do
//	/api/runs                     all runs, the latest first
//	/api/table                    all runs by column: settings, latest metrics, measurements
//	/api/curves                   some metrics of several runs: ?run=NAME&metric=SPLIT/NAME&points=N
//	/api/runs/NAME                one run with its configuration and the names of its figures
//	/api/runs/NAME/metrics        its metrics, thinned out: ?from=STEP&to=STEP&points=N
//	/api/runs/NAME/figures/FILE   one of its figures
//	/api/runs/NAME/files/FILE     a file to download: tables, figures, configuration, log, metrics.jsonl or metrics.csv
//	/api/runs/NAME/log            the last lines of its log: ?lines=N
//	/api/runs/NAME/model          what its best checkpoint has learned, as the page draws it
//	/api/runs/NAME/stop           POST: ask it to stop; likewise checkpoint and resume
//	/api/runs/NAME/labels         POST: give it tags, a note, and whether it is archived; likewise rename and remove
//	/api/sweeps                   all sweeps
//	/api/sweeps/NAME              the report of one: its trials, their results, what matters
//	/api/events                   server-sent events: changes of all runs, or of one: ?run=NAME
//
// The package knows runs only through a Source and their folders. It does not know how they are led, and no broker,
// model or configuration. An address beyond the loopback interface needs a token.
package web
