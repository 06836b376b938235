// Package web serves the page that shows runs while they go on, the numbers behind it
// as JSON, and metrics for Prometheus:
//
//	/                             the page; needs no token, since it holds nothing
//	/healthz                      the process lives
//	/readyz                       the broker is connected
//	/metrics                      Prometheus
//	/api/runs                     all runs, the latest first
//	/api/runs/NAME                one run with its configuration and the names of its figures
//	/api/runs/NAME/metrics        its metrics, thinned out: ?from=STEP&to=STEP&points=N
//	/api/runs/NAME/figures/FILE   a figure of it
//	/api/runs/NAME/stop           POST: ask it to stop
//	/api/events                   server-sent events: what changes in all runs, or ?run=NAME in one
//
// It knows runs by a Source and by their folders only: not how they are led, and no
// broker, no model and no configuration. Whoever listens beyond the loopback interface
// must set a token.
package web
