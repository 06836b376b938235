package cmd

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/store"
)

// TestTrain_ShowsItsPage: the page of a training shows the run with its workers, takes a checkpoint at once, and stops it;
// the plan names its address.
func TestTrain_ShowsItsPage(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	token := filepath.Join(t.TempDir(), "token")
	const secret = "0123456789abcdef-test"
	if err := os.WriteFile(token, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	p := c.start("train", "fhn", "train.steps=1000000", "train.checkpoint_every=0", "train.validate_every=0", "--name", "a", "--web", "127.0.0.1:0", "--web-token-file", token)
	p.says("page      http://")
	url := regexp.MustCompile(`(?m)^page +(http://127\.0\.0\.1:\d+/)`).FindStringSubmatch(p.err.String())[1]
	ask := func(method, path string, answer any) int {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+secret)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if answer != nil {
			if err := json.NewDecoder(response.Body).Decode(answer); err != nil {
				t.Fatal(err)
			}
		}
		return response.StatusCode
	}
	var shown struct {
		Step       uint64 `json:"step"`
		Checkpoint uint64 `json:"checkpoint_step"`
		Live       *struct {
			Workers []struct{ ID string } `json:"workers"`
		} `json:"live"`
	}
	until := func(so func() bool) {
		t.Helper()
		await(t, func() bool { ask("GET", "api/runs/a", &shown); return so() })
	}
	until(func() bool { return shown.Step > 0 && shown.Live != nil && len(shown.Live.Workers) > 0 })
	if status := ask("POST", "api/runs/a/checkpoint", nil); status != http.StatusAccepted {
		t.Errorf("a checkpoint: %d", status)
	}
	until(func() bool { return shown.Checkpoint > 0 })
	if status := ask("POST", "api/runs/a/stop", nil); status != http.StatusAccepted {
		t.Errorf("stop: %d", status)
	}
	if code := p.wait(); code != exitInterrupted || !strings.Contains(p.err.String(), "resume a") {
		t.Errorf("code %d, %s", code, p.err)
	}
	if info := c.info("a"); info.State != store.Interrupted || info.Checkpoint < shown.Checkpoint {
		t.Errorf("run.json holds %+v", info)
	}
}
