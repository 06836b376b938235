package trials

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/lead"
	"github.com/switchyard-ml/switchyard/ops"
	"github.com/switchyard-ml/switchyard/sweep"
)

// hosted leads the sweeps of a folder in a host that nobody works for. ended interrupts them and waits.
func hosted(t *testing.T, dir string) (m *Sweeps, ended func()) {
	t.Helper()
	log := hclog.NewNullLogger()
	transport, ctx, done := embedded(t)
	m = &Sweeps{Dir: dir, Kinds: config.Builtin().Kinds()}
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
			return string(answer), err
		}
	}
}

// TestSweeps_WaitForTheDisk: a sweep of a coordinator whose journal finds no room goes on when there is some, unless it is
// to stop, or never began.
func TestSweeps_WaitForTheDisk(t *testing.T) {
	full := fmt.Errorf("write the journal: %w", syscall.ENOSPC)
	synctest.Test(t, func(t *testing.T) {
		j, l := &Job{Folder: Folder{t.TempDir(), "s"}}, &ledSweep{begun: make(chan struct{})}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		patient := func(times int) error {
			return l.patient(ctx, j, hclog.NewNullLogger(), func() error {
				if times--; times < 0 {
					return nil
				}
				return full
			})
		}
		if err := patient(1); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("it never began: %v", err)
		}
		l.begin(nil)
		began := time.Now()
		if err := patient(60); err != nil || time.Since(began) != 60*lead.RoomWait || !j.obeys {
			t.Errorf("after %v: %v; an order that was given stands: %t", time.Since(began), err, j.obeys)
		}
		if err := patient(1e9); !errors.Is(err, sweep.ErrInterrupted) || ctx.Err() == nil {
			t.Errorf("the coordinator ended: %v", err)
		}
		if err := os.MkdirAll(j.Folder.Path(), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := j.Folder.SetOrder(sweep.Halt); err != nil {
			t.Fatal(err)
		}
		if err := patient(1); !errors.Is(err, syscall.ENOSPC) || errors.Is(err, sweep.ErrInterrupted) {
			t.Errorf("it was to stop: %v", err)
		}
	})
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
			{ops.SweepShow, `"name":"` + name + `","state":"running"`},
			{ops.SweepPause, `"name":"` + name + `","state":"paused"`},
			{ops.SweepResume, `"name":"` + name + `","state":"running"`},
			{ops.SweepSubmit, `"name":"` + name + `","state":"running"`},
			{ops.SweepList, `"name":"` + name + `","state":"running"`},
		} {
			got, err := ask(m, ops.SweepRequest{Act: c.act, Name: name, Spec: smallSweep})
			if err != nil || !strings.Contains(got, c.want) {
				t.Errorf("%s %s: got %q, %v", c.act, name, got, err)
			}
		}
		got, err := ask(m, ops.SweepRequest{Act: ops.SweepBest, Name: name})
		if err == nil || !strings.Contains(err.Error(), "no trial of sweep "+name+" is complete") {
			t.Errorf("best %s: got %q, %v", name, got, err)
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
	if err := (Folder{dir, "s"}).SetOrder(sweep.Pause); err != nil {
		t.Fatal(err)
	}
	if _, err := ask(m, submit); err == nil || !strings.Contains(err.Error(), "led by another process") {
		t.Errorf("got %v", err)
	}
	if o := (Folder{dir, "s"}).Order(); o != sweep.Pause {
		t.Errorf("who was refused has changed the order to %s", o)
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
		if err := os.MkdirAll(j.Folder.Path(), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := j.begin(); err != nil {
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
		if got, err := m.List(); err != nil {
			t.Errorf("got %v, %v", got, err)
		}
		for began := false; !began; {
			_, err := j.Folder.State()
			began = err == nil
		}
		ended()
	}
}

// commanded leads a sweep as the command does, and is interrupted when it has begun.
func commanded(t *testing.T, f Folder) {
	t.Helper()
	if err := commandedTo(t, f); !errors.Is(err, sweep.ErrInterrupted) {
		t.Fatal(err)
	}
}

// commandedTo is commanded with the error of the sweep.
func commandedTo(t *testing.T, f Folder) error {
	t.Helper()
	j, err := Prepare(Request{Folder: f, Path: "s.yaml", Text: []byte(smallSweep), Kinds: config.Builtin().Kinds()})
	if err != nil {
		t.Fatal(err)
	}
	transport, ctx, interrupt := embedded(t)
	defer transport.Close()
	defer interrupt()
	h := host(t, j, transport, Leader{Begun: interrupt})
	defer h.Close()
	return h.Lead(ctx, nil)
}

// TestReady_LeavesWhatACommandLeads: a host does not go on with the sweep of a command, whose runs are elsewhere, also if
// it is asked to; nor does a command with the sweep of a host. A folder that does not say who led the sweep is one of an
// older release: it goes on.
func TestReady_LeavesWhatACommandLeads(t *testing.T) {
	dir := t.TempDir()
	local, older := Folder{dir, "local"}, Folder{dir, "older"}
	commanded(t, local)
	commanded(t, older)
	if err := os.WriteFile(older.Path(sourceFile), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	m, ended := hosted(t, dir)
	defer ended()
	if _, err := ask(m, ops.SweepRequest{Act: ops.SweepSubmit, Name: "another", Spec: smallSweep}); err != nil {
		t.Fatal(err)
	}
	for !older.Led() {
		time.Sleep(time.Millisecond)
	}
	if local.Led() {
		t.Error("the sweep of the command is led")
	}
	for _, r := range []ops.SweepRequest{
		{Act: ops.SweepResume, Name: "local"},
		{Act: ops.SweepExtend, Name: "local", Trials: 3},
		{Act: ops.SweepSubmit, Name: "local", Spec: smallSweep},
	} {
		if _, err := ask(m, r); !errors.Is(err, errLed) {
			t.Errorf("%s: got %v", r.Act, err)
		}
	}
	commanded(t, local)
	if _, err := ask(m, ops.SweepRequest{Act: ops.SweepStop, Name: "another"}); err != nil {
		t.Error(err)
	}
	if err := commandedTo(t, Folder{dir, "another"}); !errors.Is(err, errLed) {
		t.Errorf("a command that leads the sweep of the host: got %v", err)
	}
}

// TestReady_PausedStaysPaused: of a sweep that is paused no trial runs, and the restart of a host is no order to go on.
func TestReady_PausedStaysPaused(t *testing.T) {
	dir := t.TempDir()
	f := Folder{dir, "s"}
	m, ended := hosted(t, dir)
	if _, err := ask(m, ops.SweepRequest{Act: ops.SweepSubmit, Name: "s", Spec: smallSweep}); err != nil {
		t.Fatal(err)
	}
	for begun := false; !begun; {
		state, err := f.State()
		if err != nil {
			t.Fatal(err)
		}
		begun = slices.ContainsFunc(state.Trials, func(t *sweep.Trial) bool { return t.Status == sweep.StatusRunning })
	}
	if got, err := ask(m, ops.SweepRequest{Act: ops.SweepPause, Name: "s"}); err != nil || strings.Contains(got, `"running":`) {
		t.Fatalf("got %s, %v", got, err)
	}
	ended()
	m, ended = hosted(t, dir)
	defer ended()
	for l, err := m.here("s"); l == nil; l, err = m.here("s") {
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
	if o := f.Order(); o != sweep.Pause {
		t.Errorf("after the restart the order is %s", o)
	}
	if got, err := ask(m, ops.SweepRequest{Act: ops.SweepResume, Name: "s"}); err != nil || !strings.Contains(got, `"running"`) {
		t.Errorf("got %s, %v", got, err)
	}
}

// TestRemote_ExtendsOnce: an extension that is sent again because its answer was lost adds its trials once, and one that was
// overtaken by another adds none.
func TestRemote_ExtendsOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	m, ended := hosted(t, dir)
	defer ended()
	if _, err := ask(m, ops.SweepRequest{Act: ops.SweepSubmit, Name: "s", Spec: smallSweep}); err != nil {
		t.Fatal(err)
	}
	trials := func() int {
		state, err := (Folder{dir, "s"}).State()
		if err != nil {
			t.Fatal(err)
		}
		return state.Spec.Trials
	}
	stop := func() {
		if _, err := m.Order("s", sweep.Halt); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	var sent ops.SweepRequest
	twice := Remote{func(r ops.SweepRequest) (ops.SweepAnswer, error) {
		answer, err := m.Answer(r)
		if r.Act != ops.SweepExtend || err != nil {
			return answer, err
		}
		sent = r
		stop() // else a repetition would be refused because the sweep is running
		return m.Answer(r)
	}}
	if _, err := twice.Extend("s", 3); err != nil || trials() != 9 {
		t.Errorf("%d trials after an extension of 6 by 3, %v", trials(), err)
	}
	if _, err := (Remote{m.Answer}).Extend("s", 2); err != nil || trials() != 11 {
		t.Errorf("%d trials after another by 2, %v", trials(), err)
	}
	stop()
	if _, err := m.Answer(sent); err == nil || !strings.Contains(err.Error(), "extended meanwhile, from 6 trials to 11") || trials() != 11 {
		t.Errorf("a late repetition: %d trials, %v", trials(), err)
	}
	if _, err := m.Answer(ops.SweepRequest{Act: ops.SweepExtend, Name: "s", Trials: 1}); err != nil || trials() != 12 {
		t.Errorf("an older client: %d trials, %v", trials(), err)
	}
}

// TestRemote_LongReport: a report that is larger than a message comes whole.
func TestRemote_LongReport(t *testing.T) {
	t.Parallel()
	for room, want := range map[int]int{0: 1, 1 << 20: 1, 900: 4, 1: 7} {
		asked := 0
		remote := Remote{func(r ops.SweepRequest) (ops.SweepAnswer, error) {
			asked++
			v := &Shown{Report: &sweep.Report{}, Summary: Summary{Trials: 7}}
			for id := range 7 {
				v.Trials = append(v.Trials, sweep.ReportTrial{ID: id + 1})
			}
			if err := v.cut(r.From, room); err != nil {
				return nil, err
			}
			data, err := json.Marshal(v)
			if room > 1 && len(data) > room {
				t.Errorf("%d bytes in a message with room for %d", len(data), room)
			}
			return data, err
		}}
		v, err := remote.Show("s")
		if err != nil || len(v.Trials) != 7 || v.Trials[6].ID != 7 || asked != want {
			t.Errorf("room for %d bytes: %d requests, %v, %v", room, asked, v, err)
		}
	}
}

// TestRemote_AnswersAsTheFolder: what is asked of the sweeps of a folder has the same answer, or the same refusal, from
// the host.
func TestRemote_AnswersAsTheFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	m, ended := hosted(t, dir)
	defer ended()
	if _, err := ask(m, ops.SweepRequest{Act: ops.SweepSubmit, Name: "s", Spec: smallSweep}); err != nil {
		t.Fatal(err)
	}
	remote := Remote{m.Answer}
	folder := &Sweeps{Dir: dir, Leader: Leader{Program: m.Leader.Program}}
	text := func(o Operations, do func(Operations) (any, error)) string {
		answer, err := do(o)
		text, bad := json.Marshal(answer)
		if bad != nil {
			t.Fatal(bad)
		}
		return fmt.Sprintf("%s %v; %s", text, err, config.HintOf(err))
	}
	// The sweep goes on meanwhile, and a trial can pause and run again between two questions: only answers that stay
	// different are a fault.
	same := func(what string, do func(Operations) (any, error)) {
		t.Helper()
		const most = 200
		for n := 1; ; n++ {
			ofFolder, ofHost := text(folder, do), text(remote, do)
			if ofFolder == ofHost {
				return
			}
			if n == most {
				t.Fatalf("%s: the folder answers\n%s\nand the coordinator\n%s", what, ofFolder, ofHost)
			}
		}
	}
	every := func() {
		t.Helper()
		same("ls", func(o Operations) (any, error) { return o.List() })
		for _, name := range []string{"s", "none", "../s"} {
			same("show "+name, func(o Operations) (any, error) { return o.Show(name) })
			same("best "+name, func(o Operations) (any, error) { return o.Best(name) })
		}
		same("extend", func(o Operations) (any, error) { return o.Extend("s", 0) })
	}
	for _, order := range []sweep.Order{sweep.Pause, sweep.Pause, sweep.Proceed, sweep.Pause} {
		same(string(order), func(o Operations) (any, error) { return o.Order("s", order) })
	}
	every()
	same("extend", func(o Operations) (any, error) { return o.Extend("s", 3) })
	if _, err := folder.Order("s", sweep.Halt); err != nil {
		t.Error(err)
	}
	every()
	same("stop", func(o Operations) (any, error) { return o.Order("s", sweep.Halt) })
}
