package trials

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/ops"

	"github.com/switchyard-ml/switchyard/lead"
	"github.com/switchyard-ml/switchyard/sweep"
)

// hosted leads the sweeps of a folder in a host that nobody works for. ended interrupts them and waits.
func hosted(t *testing.T, dir string) (m *Sweeps, ended func()) {
	t.Helper()
	log := hclog.NewNullLogger()
	transport, err := lead.Embed(lead.Direct, log)
	if err != nil {
		t.Fatal(err)
	}
	m = &Sweeps{
		Dir: dir, Kinds: config.Builtin().Kinds(),
		Describe: func(w io.Writer, f Folder, s *sweep.State, _ bool) error {
			_, err := fmt.Fprintf(w, "%s %s\n", f.Name, s.Word())
			return err
		},
	}
	h := lead.New(lead.Config{
		RunsDir: t.TempDir(), URL: "embedded", Kinds: m.Kinds, Log: log,
		Command: func(words ...string) string { return strings.Join(words, " ") }, Mistaken: func(error) bool { return false },
		Connect: transport.Plain, Direct: transport.Direct,
		Ready: m.Ready,
	})
	m.Leader = Leader{Host: h, RunsDir: t.TempDir(), Program: "switchyard", Log: log, Page: func(string, any) ([]byte, error) { return []byte("page"), nil }}
	if err := h.Connect(); err != nil {
		t.Fatal(err)
	}
	ctx, done := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- h.Serve(ctx, nil, nil) }()
	return m, func() {
		done()
		if err := <-served; err != nil {
			t.Error(err)
		}
		h.Close()
		transport.Close()
	}
}

// ask asks for something, until the host is ready.
func ask(m *Sweeps, r ops.SweepRequest) (string, error) {
	for {
		answer, err := m.Answer(r)
		var refusal *ops.Error
		if !errors.As(err, &refusal) || refusal.Code != ops.Unavailable {
			return answer.Text, err
		}
	}
}

// TestSweeps_SubmittedIsThere: a sweep whose submission was answered is found, shown and given orders at once.
func TestSweeps_SubmittedIsThere(t *testing.T) {
	m, ended := hosted(t, t.TempDir())
	defer ended()
	for n := range 5 {
		name := fmt.Sprintf("s%d", n)
		if _, err := ask(m, ops.SweepRequest{Act: ops.SweepSubmit, Name: name, Spec: smallSweep}); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			act  ops.SweepAct
			want string
		}{
			{ops.SweepShow, name + " running"},
			{ops.SweepBest, name + " running"},
			{ops.SweepPause, "sweep " + name + ": pause"},
			{ops.SweepResume, "sweep " + name + ": run"},
			{ops.SweepSubmit, "under way"},
			{ops.SweepList, name},
		} {
			got, err := ask(m, ops.SweepRequest{Act: c.act, Name: name, Spec: smallSweep})
			if err != nil || !strings.Contains(got, c.want) {
				t.Errorf("%s %s: got %q, %v", c.act, name, got, err)
			}
		}
	}
}

// TestSweeps_SubmitSaysWhatFailed: what keeps a sweep from beginning is the answer to those who submit it, and nothing is
// left that says it is led.
func TestSweeps_SubmitSaysWhatFailed(t *testing.T) {
	dir := t.TempDir()
	m, ended := hosted(t, dir)
	defer ended()
	submit := ops.SweepRequest{Act: ops.SweepSubmit, Name: "s", Spec: smallSweep}
	lock, err := (Folder{dir, "s"}).Lead()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ask(m, submit); err == nil || !strings.Contains(err.Error(), "led by another process") {
		t.Errorf("got %v", err)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := ask(m, submit); err != nil {
		t.Errorf("after the other process has ended: %v", err)
	}
}

// TestFolder_BeforeTheFirstRecord: a sweep whose process ended before its journal had a record is none, and begins with
// the next host.
func TestFolder_BeforeTheFirstRecord(t *testing.T) {
	for _, text := range []string{"", `{"crc32":"00`} {
		dir := t.TempDir()
		j, err := prepare(t, dir, smallSweep)
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Begin(); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{SpecFile: smallSweep, JournalFile: text} {
			if err := os.WriteFile(j.Folder.Path(name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := j.Folder.State(); !errors.Is(err, ErrNotFound) {
			t.Errorf("got %v", err)
		}
		if losers, err := j.Folder.Losers(); err != nil || losers != nil {
			t.Errorf("losers %v, %v", losers, err)
		}
		m, ended := hosted(t, dir)
		if got, err := m.list(); err != nil {
			t.Errorf("got %q, %v", got, err)
		}
		for began := false; !began; {
			_, err := j.Folder.State()
			began = err == nil
		}
		ended()
	}
}
