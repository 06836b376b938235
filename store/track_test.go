package store_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/store"
)

var began = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// folder has a finished run of two updates and a validation, in the form of older releases.
func folder(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "try"), 0o755); err != nil {
		t.Fatal(err)
	}
	info, err := json.Marshal(store.Info{Name: "try", State: store.Finished, Step: 2, Steps: 2, ParametersSHA256: "abc", Started: began, Updated: began.Add(time.Minute)})
	if err != nil {
		t.Fatal(err)
	}
	lines := []string{
		`{"step":1,"split":"train","time":"2026-11-22T12:00:01Z","seconds":1,"values":{"loss":2.5,"norm":0.25}}`,
		`{"step":2,"split":"train","time":"2026-11-22T12:00:02Z","seconds":2,"values":{"loss":1.5,"norm":0.125}}`,
		`{"step":2,"split":"validation","time":"2026-11-22T12:00:03Z","seconds":3,"values":{"elbo":-7}}`,
	}
	for file, text := range map[string]string{"run.json": string(info), "metrics.jsonl": strings.Join(lines, "\n") + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, "try", file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// event is what TensorBoard's loader reads of a record.
type event struct {
	time    float64
	step    uint64
	version string
	begins  bool // SessionLog START: what was read of this step and later ones is forgotten
	values  map[string]float32
}

// load reads an event file by the rules of TFRecord and of event.proto.
func load(t *testing.T, path string) (list []event) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sound := func(part []byte, want uint32) {
		crc := crc32.Checksum(part, crc32.MakeTable(crc32.Castagnoli))
		if (crc>>15|crc<<17)+0xa282ead8 != want {
			t.Fatalf("%s: a wrong checksum", path)
		}
	}
	for len(data) > 0 {
		n := binary.LittleEndian.Uint64(data)
		sound(data[:8], binary.LittleEndian.Uint32(data[8:]))
		body := data[12 : 12+n]
		sound(body, binary.LittleEndian.Uint32(data[12+n:]))
		data = data[16+n:]
		e := event{values: map[string]float32{}}
		fields(t, body, func(field protowire.Number, number uint64, text []byte) {
			switch field {
			case 1:
				e.time = math.Float64frombits(number)
			case 2:
				e.step = number
			case 3:
				e.version = string(text)
			case 7:
				fields(t, text, func(field protowire.Number, number uint64, _ []byte) { e.begins = field == 1 && number == 1 })
			case 5:
				fields(t, text, func(_ protowire.Number, _ uint64, value []byte) {
					var tag string
					fields(t, value, func(field protowire.Number, number uint64, text []byte) {
						if field == 1 {
							tag = string(text)
						} else {
							e.values[tag] = math.Float32frombits(uint32(number))
						}
					})
				})
			}
		})
		list = append(list, e)
	}
	return list
}

// fields calls each with the fields of a message.
func fields(t *testing.T, data []byte, each func(field protowire.Number, number uint64, text []byte)) {
	t.Helper()
	for len(data) > 0 {
		field, kind, n := protowire.ConsumeTag(data)
		var number uint64
		var text []byte
		var m int
		switch kind {
		case protowire.VarintType:
			number, m = protowire.ConsumeVarint(data[n:])
		case protowire.Fixed64Type:
			number, m = protowire.ConsumeFixed64(data[n:])
		case protowire.Fixed32Type:
			var short uint32
			short, m = protowire.ConsumeFixed32(data[n:])
			number = uint64(short)
		case protowire.BytesType:
			text, m = protowire.ConsumeBytes(data[n:])
		}
		if n < 0 || m <= 0 {
			t.Fatalf("no message: %x", data)
		}
		each(field, number, text)
		data = data[n+m:]
	}
}

// TestTensorBoard: what a loader reads is what the run recorded, a folder for each split, and a second time the same.
func TestTensorBoard(t *testing.T) {
	dir := folder(t)
	for range 2 {
		files, err := store.TensorBoard(dir, "try", filepath.Join(dir, "try", store.Folder))
		if err != nil || len(files) != 2 || !strings.Contains(files[0], filepath.Join("tb", "train", "events.out.tfevents.")) {
			t.Fatalf("got %v, %v", files, err)
		}
		train, validation := load(t, files[0]), load(t, files[1])
		if len(train) != 3 || train[0].version != "brain.Event:2" || len(validation) != 2 {
			t.Fatalf("%d and %d events, the first %+v", len(train), len(validation), train[0])
		}
		last := train[2]
		if last.step != 2 || last.time != float64(began.Unix()+2) || len(last.values) != 2 || last.values["loss"] != 1.5 || last.values["norm"] != 0.125 {
			t.Errorf("the last update is %+v", last)
		}
		if v := validation[1]; v.step != 2 || len(v.values) != 1 {
			t.Errorf("the validation is %+v", v)
		}
	}
	elsewhere := t.TempDir()
	for range 2 {
		if _, err := store.TensorBoard(dir, "try", elsewhere); err != nil {
			t.Errorf("elsewhere: %v", err)
		}
	}
	other := filepath.Join(elsewhere, "train", "events.out.tfevents.1.switchyard")
	if err := os.WriteFile(other, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := store.TensorBoard(dir, "try", elsewhere); !errors.Is(err, store.ErrEvents) {
		t.Errorf("beside another run: %v", err)
	}
	if _, err := os.Stat(other); err != nil {
		t.Errorf("the other's event files: %v", err)
	}
	if _, err := store.TensorBoard(dir, "none", t.TempDir()); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a run that there is not: %v", err)
	}
}

// TestTensorBoard_RunsOfOneSecond: workers begin the trials of a sweep side by side, and each is another run.
func TestTensorBoard_RunsOfOneSecond(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		for _, name := range []string{"one", "two"} {
			run, err := store.Create(dir, store.Draft{Name: name, Config: []byte("seed: 1\n")})
			if err != nil {
				t.Fatal(err)
			}
			r := store.Record{Step: 1, Split: "train", Time: began, Values: store.Values{"loss": 2.5}}
			if err := errors.Join(run.Append(r), run.End(store.Finished, ""), run.Close()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
		}
	})
	files, err := store.TensorBoard(dir, "one", out)
	if err != nil || len(files) != 1 {
		t.Fatalf("got %v, %v", files, err)
	}
	if _, err := store.TensorBoard(dir, "two", out); !errors.Is(err, store.ErrEvents) {
		t.Errorf("a run that began a millisecond later: %v", err)
	}
	if _, err := os.Stat(files[0]); err != nil {
		t.Error(err)
	}
}

// TestTensorBoard_StaysInItsFolder: a split of a damaged file leads nowhere.
func TestTensorBoard_StaysInItsFolder(t *testing.T) {
	for _, split := range []string{"../out", "a/b", "..", ""} {
		dir := folder(t)
		line := `{"step":1,"split":"` + split + `","time":"2026-11-22T12:00:01Z","seconds":1,"values":{"loss":2.5}}` + "\n"
		if err := os.WriteFile(filepath.Join(dir, "try", "metrics.jsonl"), []byte(line), 0o644); err != nil {
			t.Fatal(err)
		}
		files, err := store.TensorBoard(dir, "try", filepath.Join(dir, "try", store.Folder))
		if !errors.Is(err, store.ErrDamaged) || len(files) > 0 {
			t.Errorf("%q: wrote %v, %v", split, files, err)
		}
	}
}

// TestTensorBoard_FolderOfItsOwnRun: a run that writes event files itself keeps them, however its folder is written. A
// run that has ended gets new ones there.
func TestTensorBoard_FolderOfItsOwnRun(t *testing.T) {
	dir := t.TempDir()
	run, err := store.Create(dir, store.Draft{Name: "try", Config: []byte("seed: 1\n")})
	if err != nil {
		t.Fatal(err)
	}
	l := store.NewLive(run.Folder(), 10, 0)
	r := store.Record{Step: 1, Split: "train", Time: began, Values: store.Values{"loss": 2.5}}
	if err := errors.Join(run.Append(r), l.Add(r), l.Flush()); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	own := filepath.Join("try", store.Folder)
	written := func() []string {
		files, err := filepath.Glob(filepath.Join(own, "train", "events.*"))
		if err != nil {
			t.Error(err)
		}
		return files
	}
	before := written()
	for _, out := range []string{own, filepath.Join(dir, own)} {
		_, err := store.TensorBoard(dir, "try", out)
		if !errors.Is(err, store.ErrHeld) || len(before) != 1 || !slices.Equal(written(), before) {
			t.Errorf("%s while it writes: %v, left is %v", out, err, written())
		}
	}
	if err := errors.Join(l.Close(), run.End(store.Finished, ""), run.Close()); err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{own, filepath.Join(dir, own)} {
		_, err := store.TensorBoard(dir, "try", out)
		if err != nil || len(written()) != 1 || slices.Equal(written(), before) {
			t.Errorf("%s after it has ended: %v, left is %v", out, err, written())
		}
	}
}

// TestTensorBoard_KeepsWhatItCannotWriteAgain: where the metrics are damaged or gone, event files are all that is left.
func TestTensorBoard_KeepsWhatItCannotWriteAgain(t *testing.T) {
	dir := folder(t)
	own := filepath.Join(dir, "try", store.Folder)
	files, err := store.TensorBoard(dir, "try", own)
	if err != nil || len(files) != 2 {
		t.Fatalf("got %v, %v", files, err)
	}
	was := load(t, files[0])
	metrics := filepath.Join(dir, "try", "metrics.jsonl")
	text, err := os.ReadFile(metrics)
	if err != nil {
		t.Fatal(err)
	}
	for _, damage := range []string{"{\n", `{"step":3,"split":"../out","values":{"loss":2.5}}` + "\n", ""} {
		err := os.WriteFile(metrics, append(text[:len(text):len(text)], damage...), 0o644)
		if damage == "" {
			err = os.Remove(metrics)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.TensorBoard(dir, "try", own); errors.Is(err, store.ErrDamaged) != (damage != "") {
			t.Errorf("%q: %v", damage, err)
		}
		if now := load(t, files[0]); !reflect.DeepEqual(now, was) {
			t.Errorf("%q: %d events are left of %d", damage, len(now), len(was))
		}
	}
}

// TestLive: what is added can be read while the run goes on; of training as many records as TensorBoard shows. A run that
// goes on, or goes back, says from where, so that what was written of later updates is forgotten.
func TestLive(t *testing.T) {
	dir := t.TempDir()
	l := store.NewLive(dir, 20_000, 0)
	for step := uint64(1); step <= 100; step++ {
		if err := l.Add(store.Record{Step: step, Split: "train", Time: began.Add(time.Duration(step) * time.Second), Values: store.Values{"loss": float64(step)}}); err != nil {
			t.Fatal(err)
		}
	}
	err := l.Add(store.Record{Step: 103, Split: "validation", Time: began, Values: store.Values{"elbo": -7}})
	if err := errors.Join(err, l.Flush()); err != nil {
		t.Fatal(err)
	}
	files := func(split string) []string {
		t.Helper()
		list, err := filepath.Glob(filepath.Join(dir, "tb", split, "events.out.tfevents.*"))
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	train := load(t, files("train")[0])
	if len(train) != 12 || train[0].version != "brain.Event:2" || train[1].step != 1 || train[11].step != 100 || train[11].values["loss"] != 100 {
		t.Errorf("%d events of training, the first ones %+v", len(train), train[:min(3, len(train))])
	}
	if v := load(t, files("validation")[0]); len(v) != 2 || v[1].values["elbo"] != -7 {
		t.Errorf("the validation is %+v", v)
	}
	if err := errors.Join(l.Back(50), l.Close()); err != nil {
		t.Fatal(err)
	}
	if train = load(t, files("train")[0]); len(train) != 13 || !train[12].begins || train[12].step != 51 {
		t.Errorf("after going back: %+v", train[len(train)-1])
	}
	again := store.NewLive(dir, 20_000, 50)
	err = again.Add(store.Record{Step: 51, Split: "train", Time: began.Add(time.Hour), Values: store.Values{"loss": 3}})
	if err := errors.Join(err, again.Close()); err != nil {
		t.Fatal(err)
	}
	at := store.NewLive(dir, 20_000, 50) // in the same second
	err = at.Add(store.Record{Step: 51, Split: "train", Time: began.Add(time.Hour), Values: store.Values{"loss": 4}})
	if err := errors.Join(err, at.Close()); err != nil {
		t.Fatal(err)
	}
	list := files("train")
	if len(list) != 3 {
		t.Fatalf("the files are %v", list)
	}
	if second := load(t, list[1]); len(second) != 3 || !second[1].begins || second[1].step != 51 || second[2].values["loss"] != 3 {
		t.Errorf("the second part is %+v", second)
	}
}

// TestLive_Sparse: of a run of few updates, every one is written, and of a long one as many as TensorBoard shows, also if
// its records are those of rounds of local steps, few of which end at a multiple of anything.
func TestLive_Sparse(t *testing.T) {
	for _, c := range []struct {
		steps, local uint64
		want         int
	}{{30, 1, 30}, {20_000, 1, 2001}, {102_000, 50, 2001}, {102_000, 60, 1700}} {
		dir := t.TempDir()
		l := store.NewLive(dir, c.steps, 0)
		for step := c.local; step <= c.steps; step += c.local {
			if err := l.Add(store.Record{Step: step, Split: "train", Time: began, Values: store.Values{"loss": 1}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		list, err := filepath.Glob(filepath.Join(dir, "tb", "train", "*"))
		if err != nil || len(list) != 1 {
			t.Fatalf("got %v, %v", list, err)
		}
		if n := len(load(t, list[0])) - 1; n != c.want { // the first one is the version
			t.Errorf("%+v: %d records", c, n)
		}
	}
}

// TestLive_BackBehindAResumption: a split whose first file is made after a run that was resumed has gone back further
// begins where it went back to.
func TestLive_BackBehindAResumption(t *testing.T) {
	for _, back := range []uint64{50, 0} {
		dir := t.TempDir()
		l := store.NewLive(dir, 1000, 100)
		err := errors.Join(l.Back(back), l.Back(back+10))
		err = errors.Join(err, l.Add(store.Record{Step: 60, Split: "validation", Time: began, Values: store.Values{"elbo": 1}}), l.Close())
		list, _ := filepath.Glob(filepath.Join(dir, "tb", "validation", "*"))
		if err != nil || len(list) != 1 {
			t.Fatalf("%v, files %v", err, list)
		}
		if events := load(t, list[0]); len(events) != 3 || !events[1].begins || events[1].step != back+1 {
			t.Errorf("back to %d: %+v", back, events)
		}
	}
}

// server is a small server of MLflow's protocol that keeps what it is told.
type server struct {
	t           *testing.T
	experiments map[string]string
	calls       map[string][]map[string]any
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/api/2.0/mlflow/")
	body := map[string]any{}
	if r.Method == http.MethodPost {
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			s.t.Errorf("%s: %v", path, err)
		}
	}
	s.calls[path] = append(s.calls[path], body)
	var answer any = map[string]any{}
	switch path {
	case "experiments/get-by-name":
		id, found := s.experiments[r.URL.Query().Get("experiment_name")]
		if !found {
			w.WriteHeader(http.StatusNotFound)
			answer = map[string]string{"error_code": "RESOURCE_DOES_NOT_EXIST"}
		} else {
			answer = map[string]any{"experiment": map[string]string{"experiment_id": id}}
		}
	case "experiments/create":
		s.experiments[body["name"].(string)] = "7"
		answer = map[string]string{"experiment_id": "7"}
	case "runs/create":
		answer = map[string]any{"run": map[string]any{"info": map[string]string{"run_id": "r1"}}}
	case "runs/log-batch", "runs/update":
	default:
		w.WriteHeader(http.StatusNotFound)
	}
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		s.t.Error(err)
	}
}

func someConfig(t *testing.T) config.Config {
	t.Helper()
	r, err := config.Builtin().Kinds().Resolve(config.Sources{Preset: "fhn/smoke"})
	if err != nil {
		t.Fatal(err)
	}
	return r.Config
}

// TestMLflow: experiment, parameters, every value and the end arrive; an experiment is created once.
func TestMLflow(t *testing.T) {
	dir, c := folder(t), someConfig(t)
	s := &server{t, map[string]string{}, map[string][]map[string]any{}}
	web := httptest.NewServer(s)
	defer web.Close()
	m := store.MLflow{URL: web.URL + "/", Experiment: "trials & more", Client: web.Client()}
	for range 2 {
		id, leftOut, err := m.Send(t.Context(), dir, "try", c)
		if err != nil || id != "r1" || leftOut != 0 {
			t.Fatalf("run %q, %d left out, %v", id, leftOut, err)
		}
	}
	if n := len(s.calls["experiments/create"]); n != 1 || s.experiments["trials & more"] != "7" {
		t.Errorf("%d experiments were created: %v", n, s.experiments)
	}
	if made := s.calls["runs/create"][0]; made["experiment_id"] != "7" || made["run_name"] != "try" || made["start_time"] != float64(began.UnixMilli()) {
		t.Errorf("the run was created as %v", made)
	}
	params, points := map[string]any{}, map[string]float64{}
	for _, call := range s.calls["runs/log-batch"] {
		if list, ok := call["params"].([]any); ok {
			for _, p := range list {
				params[p.(map[string]any)["key"].(string)] = p.(map[string]any)["value"]
			}
		}
		if list, ok := call["metrics"].([]any); ok {
			for _, p := range list {
				of := p.(map[string]any)
				points[of["key"].(string)] += of["value"].(float64)
			}
		}
	}
	if params["model.kind"] != "slds" || params["seed"] != "1" || len(params) < 20 {
		t.Errorf("the parameters are %v", params)
	}
	if len(points) != 3 || points["train/loss"] != 2*4 {
		t.Errorf("the sums of the metrics are %v", points)
	}
	if end := s.calls["runs/update"][0]; end["status"] != "FINISHED" || end["end_time"] != float64(began.Add(time.Minute).UnixMilli()) {
		t.Errorf("the run ended as %v", end)
	}
}

// TestMLflow_Refused: a server that does not do what it is asked is named with its answer.
func TestMLflow_Refused(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no such tenant", http.StatusForbidden)
	}))
	defer web.Close()
	m := store.MLflow{URL: web.URL, Experiment: "x", Client: web.Client()}
	if _, _, err := m.Send(t.Context(), folder(t), "try", someConfig(t)); !errors.Is(err, store.ErrServer) || !strings.Contains(err.Error(), "no such tenant") {
		t.Errorf("got %v", err)
	}
}
