package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/envs/files/array"
)

// writingLines are commands that write files, beside those of the scene that do.
var writingLines = []string{
	"train noise/smoke train.steps=300 train.checkpoint_every=3 --name one --web none --quiet",
	"sweep -m noise/smoke seed=2 optim.rate=1e-3,1e-2 train.steps=40 --name more --web none --quiet",
	"forecast own --horizon 30 --samples 400 --out next.npz,next.csv,next.json,next.svg,next.png",
	"segment own --out regimes.npz,regimes.svg", "smooth own --out whole.csv,whole.png",
	"simulate own --steps 4000 --out made.npz,made.csv", "backtest own --horizon 4 --out test.json,test.svg",
	"export own --format npz -o model", "export own --format onnx -o graphs", "report smoke -o reported",
	"data convert data converted.npz", "data convert data converted.csv", "data generate maze --episodes 200 --out generated.npz",
	"runs export smoke --to tensorboard -o boards", "runs prune --yes", "runs rename spare renamed", "resume smoke",
	"data show fhn --length 20 --episodes 1 --out pictures", "fit data --budget 5s --name fitted --quiet",
	"linearize own --out systems.npz", "keys rotate lab --dir keys", "paper --size smoke --only fhn --seeds 1 -o paper",
}

// drawnMoments is how many commands get a signal at a moment that is drawn.
const drawnMoments = 8

// signalsAtAnyMoment draws commands of the list, and sends each a signal at a moment of its run that is drawn: it ends,
// nothing that it leaves is half written, and all that it works on can be read.
func signalsAtAnyMoment(t *testing.T, made string) {
	draw := rand.New(rand.NewPCG(24, 1))
	for range drawnMoments {
		line := writingLines[draw.IntN(len(writingLines))]
		part, sent := draw.Float64(), []os.Signal{os.Interrupt, syscall.SIGTERM}[draw.IntN(2)]
		s := copied(t, made)
		prepare(s)
		began := time.Now()
		if code, said := signalledAfter(s.cli, line, nil, 0); code != exitOK {
			t.Errorf("%s: exit code %d\n%s", line, code, said)
			continue
		}
		lasts := time.Since(began)
		s = copied(t, made)
		prepare(s)
		code, said := signalledAfter(s.cli, line, sent, time.Duration(part*float64(lasts)))
		if code != exitOK && code != exitFailed && code != exitInterrupted && code != beforeItBegan {
			t.Errorf("%s: %v ends it with exit code %d\n%s", line, sent, code, said)
		}
		for _, fault := range halfWritten(t, ".") {
			t.Errorf("%s: %v after %.0f %% leaves %s\n%s", line, sent, 100*part, fault, said)
		}
		for _, after := range []string{"runs ls", "sweep ls", "runs show smoke", "runs show own"} {
			if r := s.run(strings.Fields(after)...); r.code != exitOK {
				t.Errorf("%s: after %v, %s has exit code %d\n%s", line, sent, after, r.code, r.err)
			}
		}
	}
}

// prepare makes what some lines need beside the scene.
func prepare(s *scene) {
	s.must("init", "--dir", "keys", "--workers", "1")
	s.must("keys", "add", "lab", "--dir", "keys")
}

// beforeItBegan is the exit code of a process that a signal ended before it listened to signals.
const beforeItBegan = -1

// signalledAfter runs a command as a process of its own, sends it a signal, if there is one, after a while, and returns
// how it ended.
func signalledAfter(c *cli, line string, s os.Signal, after time.Duration) (code int, said string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), hangLimit)
	defer cancel()
	own := asProcess(c.t, strings.Fields(line)...)
	cmd := exec.CommandContext(ctx, own.Path, own.Args[1:]...)
	cmd.Env = append(own.Env, "SWITCHYARD_RUNS_DIR="+c.dir)
	var errs strings.Builder
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	if s != nil {
		time.Sleep(after)
		_ = cmd.Process.Signal(s) // it may be over
	}
	_ = cmd.Wait()
	if ctx.Err() != nil {
		c.t.Errorf("%s: %v does not end it\n%s", line, s, errs.String())
	}
	return cmd.ProcessState.ExitCode(), errs.String()
}

// halfWritten says which files below a folder are not whole under their names. Logs, to which lines are added, may end
// anywhere, and a temporary file is no result.
func halfWritten(t *testing.T, dir string) (faults []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		left := path == e.Name() && strings.HasPrefix(path, ".") // a copy aside that a signal should have removed
		if err == nil && (left || !wholeFile(path, data)) {
			faults = append(faults, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return faults
}

// wholeFile reports whether a file is one of its kind, from begin to end.
func wholeFile(path string, data []byte) bool {
	ends := func(text string) bool { return bytes.HasSuffix(bytes.TrimSpace(data), []byte(text)) }
	switch filepath.Ext(path) {
	case ".json":
		return json.Valid(data)
	case ".csv", ".yaml", ".txt":
		return len(data) == 0 || data[len(data)-1] == '\n'
	case ".svg":
		return ends("</svg>")
	case ".html":
		return ends("</html>")
	case ".png":
		return ends("IEND\xaeB`\x82")
	case ".npz":
		_, err := array.OpenArchive(bytes.NewReader(data), int64(len(data)))
		return err == nil
	case ".npy":
		_, err := array.Read(bytes.NewReader(data), files.DefaultLimit)
		return err == nil
	}
	return true
}
