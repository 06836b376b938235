package cmd

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/switchyard-ml/switchyard/eval/figure"
)

// serving starts `switchyard serve` and returns the address of its page. end stops it by a signal and returns its
// result.
func (c *cli) serving(arguments ...string) (url string, end func() result) {
	c.t.Helper()
	var out, errs buffer
	a := &app{kinds: builtin(), out: &out, err: &errs, environ: append([]string{"SWITCHYARD_RUNS_DIR=" + c.dir}, c.environ...), signals: c.signals, invoked: "switchyard", cores: 2}
	done := make(chan int, 1)
	go func() { done <- a.run(append([]string{"serve"}, arguments...)) }()
	address := regexp.MustCompile(`http://\S+/`)
	for limit := time.Now().Add(2 * time.Minute); url == ""; time.Sleep(time.Millisecond) {
		url = address.FindString(out.String())
		select {
		case code := <-done:
			c.t.Fatalf("serve ended with %d: %s", code, errs.String())
		default:
		}
		if time.Now().After(limit) {
			c.t.Fatalf("serve says no address: %q %q", out.String(), errs.String())
		}
	}
	return url, func() result {
		c.signals <- os.Interrupt
		return result{<-done, out.String(), errs.String()}
	}
}

func TestServe_ShowsTheRunsOfAFolder(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.must("train", "fhn/smoke", "--name", "a", "--workers", "1", "train.steps=12", "--quiet")
	url, end := c.serving("--web", "127.0.0.1:0", "--sweeps-dir", t.TempDir())
	for path, want := range map[string]string{
		"": "<title>Switchyard</title>", "api/runs": `"name":"a"`, "api/runs/a": `"figures":["fhn.png","fhn.svg"]`,
		"api/runs/a/model":   `"colours":["` + strings.Join(figure.Colours(4), `","`) + `"]`,
		"api/runs/a/metrics": `"to":12,`, "metrics": "switchyard_info", "healthz": "ok",
	} {
		response, err := http.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusOK || !strings.Contains(string(body), want) {
			t.Errorf("%s: %s, %v, no %q in %.300s", path, response.Status, err, want, body)
		}
		if err := response.Body.Close(); err != nil {
			t.Error(err)
		}
	}
	if r := c.must("health", "--url", url+"healthz"); r.out != "ok\n" {
		t.Errorf("health: %+v", r)
	}
	if r := c.run("health", "--url", url+"missing"); r.code != exitFailed || !strings.Contains(r.err, "404") {
		t.Errorf("health of what is missing: %+v", r)
	}
	if r := end(); r.code != exitOK {
		t.Errorf("serve: %+v", r)
	}
	if r := c.run("health", "--url", url+"healthz"); r.code != exitFailed {
		t.Errorf("health of a process that ended: %+v", r)
	}
}

func TestServe_Usage(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	token := c.write("token", "too short")
	for _, x := range []struct {
		arguments string
		want      string
	}{
		{"serve --web 0.0.0.0:0", "--web-token-file"},
		{"serve --web none", "serves nothing"},
		{"serve --web-token-file " + token, "16 characters"},
		{"serve --web-token-file " + token + ".missing", "no such file"},
		{"serve --checkpoint last", "--checkpoint is for a served model: name one with --model"},
		{"serve --nats nats://127.0.0.1:1", "--nats is for a served model"},
		{"serve --max-clients 3", "--max-clients is for a served model"},
		{"serve --history 3", "--history is for a served model"},
		{"serve --model own --sweeps-dir x", "--sweeps-dir means nothing with --model"},
		{"serve --model own --nkey x", "--nkey is about the broker of --nats"},
		{"serve extra", "no arguments"},
		{"health --url localhost:8080", "--url"},
		{"health --url ftp://localhost/", "--url"},
	} {
		r := c.run(strings.Fields(x.arguments)...)
		if r.code != exitUsage || !strings.Contains(r.err, x.want) || strings.Contains(r.err, "too short") {
			t.Errorf("%s: %+v, want %q", x.arguments, r, x.want)
		}
	}
}

func TestServe_TakenAddress(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	url, end := c.serving("--web", "127.0.0.1:0")
	address := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/")
	if r := c.run("serve", "--web", address); r.code != exitFailed || !strings.Contains(r.err, "choose another address with --web") {
		t.Errorf("got %+v", r)
	}
	if r := end(); r.code != exitOK {
		t.Errorf("got %+v", r)
	}
}

// TestServe_Limits: more clients than are allowed are refused, and forecasts are made from no more than the last steps.
func TestServe_Limits(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	data := filepath.Join(t.TempDir(), "data")
	writeTrajectories(t, data, 12)
	c.must(append([]string{"train", "files", "env.files=" + data, "--name", "own"}, small...)...)
	url, end := c.serving("--model", "own", "--web", "127.0.0.1:0", "--max-clients", "1", "--history", "4")
	ask := func(path, body string) (int, string) {
		t.Helper()
		method := http.MethodPost
		if body == "" {
			method = http.MethodGet
		}
		request, err := http.NewRequestWithContext(t.Context(), method, url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		if err := errors.Join(err, response.Body.Close()); err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(text)
	}
	if status, text := ask("model", ""); status != http.StatusOK || !regexp.MustCompile(`"history":\s*4\b`).MatchString(text) {
		t.Errorf("the model: %d %s", status, text)
	}
	if status, text := ask("filter", `{"client": "a", "observations": [[1, 0]], "controls": [[0]]}`); status != http.StatusOK {
		t.Errorf("the first client: %d %s", status, text)
	}
	if status, text := ask("filter", `{"client": "b", "observations": [[1, 0]], "controls": [[0]]}`); status != http.StatusServiceUnavailable || !strings.Contains(text, "clients") {
		t.Errorf("one client too many: %d %s", status, text)
	}
	if r := end(); r.code != exitOK {
		t.Errorf("serve: %+v", r)
	}
}
