package cluster

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/switchyard-ml/switchyard/wire"
)

// all are the files of a folder of keys, in the order in which they are made.
var all = []string{
	CoordinatorKey, OperatorKey, WorkerKey, Auth, PageToken, CAKey, CA, ServerKey, Server, TLS, RouteKey, Route, RoutesConfig,
}

func initKeys(t *testing.T, cfg InitConfig) *Report {
	t.Helper()
	report, err := Init(cfg, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// contents reads a folder.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(data)
	}
	return files
}

func with(report *Report, state State) []string {
	var names []string
	for _, f := range report.Files {
		if f.State == state {
			names = append(names, f.Name)
		}
	}
	return names
}

func TestInit_MakesWhatIsMissingAndNothingElse(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deploy", "secrets")
	if made := with(initKeys(t, InitConfig{Dir: dir}), Made); !slices.Equal(made, all) {
		t.Fatalf("made %q", made)
	}
	before := contents(t, dir)
	if len(before) != len(all) {
		t.Errorf("the folder has %d files", len(before))
	}
	if kept := with(initKeys(t, InitConfig{Dir: dir}), Kept); !slices.Equal(kept, all) {
		t.Errorf("the second time %q were kept", kept)
	}
	if after := contents(t, dir); !mapsEqual(before, after) {
		t.Error("the second time changed a file")
	}
	for _, name := range all { // as after a crash, or to replace a key
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		_, err := Init(InitConfig{Dir: dir}, time.Now())
		switch name {
		case ServerKey, RouteKey: // the certificate for it is to be renewed on purpose
			if !errors.Is(err, ErrDamaged) {
				t.Errorf("without %s: got %v", name, err)
			}
			_, err = Init(InitConfig{Dir: dir, RenewServer: true}, time.Now())
		case CAKey: // may be kept elsewhere
			if writeErr := os.WriteFile(filepath.Join(dir, name), []byte(before[name]), 0o600); writeErr != nil {
				t.Fatal(writeErr)
			}
		}
		if err != nil {
			t.Errorf("without %s: %v", name, err)
		}
		if len(contents(t, dir)) != len(all) {
			t.Errorf("%s was not made again", name)
		}
		before = contents(t, dir)
	}
}

func mapsEqual(a, b map[string]string) bool {
	for name, text := range a {
		if b[name] != text {
			return false
		}
	}
	return len(a) == len(b)
}

// Two start-up containers may run at the same time.
func TestInit_AtTheSameTime(t *testing.T) {
	dir := t.TempDir()
	files := all
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := Init(InitConfig{Dir: dir}, time.Now()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if renewed := with(initKeys(t, InitConfig{Dir: dir}), Kept); len(renewed) != len(files) {
		t.Errorf("only %q fit each other", renewed)
	}
}

func TestInit_Modes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "secrets")
	mode := func(name string) fs.FileMode {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode().Perm()
	}
	check := func(secrets fs.FileMode) {
		t.Helper()
		for _, name := range all {
			want := fs.FileMode(0o644)
			if name == CAKey {
				want = 0o600
			} else if secret(name) {
				want = secrets
			}
			if got := mode(name); got != want {
				t.Errorf("%s has mode %o, want %o", name, got, want)
			}
		}
	}
	initKeys(t, InitConfig{Dir: dir})
	if mode("") != 0o700 {
		t.Errorf("the folder has mode %o", mode(""))
	}
	check(0o600)
	// What is added or replaced is as readable as the keys that are there.
	change := func(name string, want fs.FileMode) {
		t.Helper()
		if err := errors.Join(Add(dir, []string{name}), Rotate(dir, []string{name, "worker", "coordinator"})); err != nil {
			t.Fatal(err)
		}
		if got := mode("worker-" + name + ".nk"); got != want {
			t.Errorf("the key %s has mode %o, want %o", name, got, want)
		}
		check(want)
	}
	change("before", 0o600)
	if initKeys(t, InitConfig{Dir: dir, Readable: true}).Exposed {
		t.Error("said to be exposed in a folder that nobody else can enter")
	}
	check(0o644)
	initKeys(t, InitConfig{Dir: dir}) // without the option they stay as they are
	check(0o644)
	change("after", 0o644)
	if err := os.Chmod(filepath.Join(dir, "worker-before.nk"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Add(dir, []string{"doubtful"}); err != nil || mode("worker-doubtful.nk") != 0o600 {
		t.Errorf("beside keys of both kinds: mode %o, %v", mode("worker-doubtful.nk"), err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if !initKeys(t, InitConfig{Dir: dir}).Exposed {
		t.Error("not said to be exposed")
	}
}

func TestInit_Certificate(t *testing.T) {
	dir := t.TempDir()
	report := initKeys(t, InitConfig{Dir: dir, Hosts: []string{"Broker.example.org", "10.0.0.7", "0:0::1"}})
	want := []string{"broker.example.org", "localhost", "nats", "10.0.0.7", "127.0.0.1", "::1"}
	if !slices.Equal(report.Hosts, want) {
		t.Errorf("hosts %q", report.Hosts)
	}
	pool := x509.NewCertPool()
	ca, err := os.ReadFile(filepath.Join(dir, CA))
	if err != nil || !pool.AppendCertsFromPEM(ca) {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, Server), filepath.Join(dir, ServerKey))
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range want {
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: pool}); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{DNSName: "elsewhere", Roots: pool}); err == nil {
		t.Error("the certificate is good for any host")
	}
	if years := time.Until(report.ServerUntil).Hours() / 24 / 365; years < 1.9 || years > 2.1 {
		t.Errorf("valid for %v years", years)
	}
}

// A host that comes later is told, and gets its place when the certificate is renewed, beside those of before.
func TestInit_RenewServer(t *testing.T) {
	dir := t.TempDir()
	initKeys(t, InitConfig{Dir: dir, Hosts: []string{"first"}})
	before := contents(t, dir)
	report := initKeys(t, InitConfig{Dir: dir, Hosts: []string{"first", "second"}})
	if !slices.Equal(report.Absent, []string{"second"}) || !mapsEqual(before, contents(t, dir)) {
		t.Errorf("absent %q", report.Absent)
	}
	report = initKeys(t, InitConfig{Dir: dir, Hosts: []string{"second"}, RenewServer: true})
	if !slices.Equal(with(report, Renewed), []string{Server, Route}) || len(report.Absent) > 0 {
		t.Errorf("renewed %q, absent %q", with(report, Renewed), report.Absent)
	}
	if want := []string{"first", "localhost", "nats", "second", "127.0.0.1"}; !slices.Equal(report.Hosts, want) {
		t.Errorf("hosts %q", report.Hosts)
	}
	if after := contents(t, dir); after[ServerKey] != before[ServerKey] || after[CA] != before[CA] {
		t.Error("a key was replaced")
	}
}

// The authority's key need not lie beside the others, until a certificate is to be signed.
func TestInit_AuthorityKeptElsewhere(t *testing.T) {
	dir := t.TempDir()
	initKeys(t, InitConfig{Dir: dir})
	if err := os.Remove(filepath.Join(dir, CAKey)); err != nil {
		t.Fatal(err)
	}
	if made := with(initKeys(t, InitConfig{Dir: dir}), Made); len(made) > 0 {
		t.Errorf("made %q", made)
	}
	if _, err := Init(InitConfig{Dir: dir, RenewServer: true}, time.Now()); !errors.Is(err, ErrNoCA) {
		t.Errorf("got %v", err)
	}
}

// A folder of before there were routes, without the authority's key, stays as it is, and a broker gets what there is.
func TestInit_BeforeRoutes(t *testing.T) {
	dir := t.TempDir()
	initKeys(t, InitConfig{Dir: dir})
	for _, name := range []string{CAKey, Route, RouteKey, RoutesConfig} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if made := with(initKeys(t, InitConfig{Dir: dir}), Made); len(made) > 0 {
		t.Errorf("made %q", made)
	}
	if err := HandOut(dir, RoleBroker, t.TempDir()); err != nil {
		t.Error(err)
	}
	if err := HandOut(dir, RoleRoute, t.TempDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what is not there is handed out: %v", err)
	}
}

// The certificate of routes is good for both ends, the broker's for one; a new key has another pin.
func TestInit_RouteCertificate(t *testing.T) {
	dir := t.TempDir()
	initKeys(t, InitConfig{Dir: dir, Hosts: []string{"seed"}})
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(contents(t, dir)[CA]))
	read := func(file string) *x509.Certificate {
		c, err := parseCertificate(file, []byte(contents(t, dir)[file]))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for file, both := range map[string]bool{Route: true, Server: false} {
		for _, use := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
			_, err := read(file).Verify(x509.VerifyOptions{Roots: roots, DNSName: "seed", KeyUsages: []x509.ExtKeyUsage{use}})
			if good := both || use == x509.ExtKeyUsageServerAuth; (err == nil) != good {
				t.Errorf("%s, use %v: %v", file, use, err)
			}
		}
	}
	if err := read(Route).VerifyHostname(RouteName); err != nil {
		t.Error(err)
	}
	before := PinOf(read(Route))
	if !strings.Contains(contents(t, dir)[RoutesConfig], before) {
		t.Errorf("%s does not have the pin", RoutesConfig)
	}
	for _, name := range []string{Route, RouteKey} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if report := initKeys(t, InitConfig{Dir: dir}); PinOf(read(Route)) == before || !slices.Equal(with(report, Renewed), []string{RoutesConfig}) {
		t.Errorf("a new key has the pin of the old one, or %s was not made anew: %q", RoutesConfig, with(report, Renewed))
	}
}

// A machine may have a worker's key of its own, which goes when its file does.
func TestInit_WorkersOfTheirOwn(t *testing.T) {
	dir := t.TempDir()
	initKeys(t, InitConfig{Dir: dir})
	if report := initKeys(t, InitConfig{Dir: dir, Workers: []string{"gpu-box"}}); !slices.Equal(with(report, Made), []string{"worker-gpu-box.nk"}) {
		t.Errorf("made %q", with(report, Made))
	}
	with, err := os.ReadFile(filepath.Join(dir, Auth))
	if err != nil || bytes.Count(with, []byte("nkey:")) != 4 {
		t.Errorf("users: %v\n%s", err, with)
	}
	if err := os.Remove(filepath.Join(dir, "worker-gpu-box.nk")); err != nil {
		t.Fatal(err)
	}
	initKeys(t, InitConfig{Dir: dir})
	if without, err := os.ReadFile(filepath.Join(dir, Auth)); err != nil || bytes.Count(without, []byte("nkey:")) != 3 {
		t.Errorf("the key that was removed is still good: %v\n%s", err, without)
	}
}

func TestInit_Refused(t *testing.T) {
	for _, host := range []string{"", "a b", "nats://host", "host:4222", "-x", "x..y", "x/y", strings.Repeat("x", 64)} {
		if _, err := Init(InitConfig{Dir: t.TempDir(), Hosts: []string{host}}, time.Now()); !errors.Is(err, ErrHost) {
			t.Errorf("host %q: got %v", host, err)
		}
	}
	for _, name := range []string{"", "../x", "a/b", "a b", "*"} {
		if _, err := Init(InitConfig{Dir: t.TempDir(), Workers: []string{name}}, time.Now()); !errors.Is(err, ErrWorker) {
			t.Errorf("worker %q: got %v", name, err)
		}
	}
	for _, name := range []string{CoordinatorKey, WorkerKey, CAKey, CA, ServerKey, Server, RouteKey, Route} {
		dir := t.TempDir()
		initKeys(t, InitConfig{Dir: dir})
		secret := "SUAAdeadbeef-not-to-be-shown"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(secret), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Init(InitConfig{Dir: dir}, time.Now())
		if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), secret) {
			t.Errorf("damaged %s: got %v", name, err)
		}
	}
}

// A link that leads nowhere, as to keys on a disk that is not mounted, is an error. No other key is made in its place.
func TestInit_ALinkThatLeadsNowhere(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(dir, "not", "mounted"), filepath.Join(dir, CoordinatorKey)); err != nil {
		t.Fatal(err)
	}
	_, err := Init(InitConfig{Dir: dir}, time.Now())
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), CoordinatorKey) {
		t.Errorf("got %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the folder has %v, %v", entries, err)
	}
}

// The permissions are those of the subjects that package wire names.
func TestRoles_FitTheProtocol(t *testing.T) {
	s, err := wire.SubjectsOf("a-run")
	if err != nil {
		t.Fatal(err)
	}
	const public, other = "UAAAAAAAAAAA1", "UAAAAAAAAAAB1"
	toAll := []string{s.Theta, s.All}
	to := func(key string) []string {
		name := wire.Name("w1", wire.KeyName(key))
		return []string{s.Worker(name), wire.AssignSubject(name)}
	}
	from := func(key string) []string {
		of := s.By(wire.KeyName(key))
		return []string{of.Control, of.Data, wire.By(wire.SeekSubject, wire.KeyName(key))}
	}
	fromCoordinator, fromWorker := slices.Concat(toAll, to(public)), from(public)
	fromAll := []string{wire.By(s.Control, wire.AnyKey), wire.By(s.Data, wire.AnyKey), wire.By(wire.SeekSubject, wire.AnyKey)}
	coordinator, worker, operator := coordinatorRole(other), workerRole(public), operatorRole()
	for _, test := range []struct {
		name     string
		may      []string
		subjects []string
		want     bool
	}{
		{"coordinator publishes", coordinator.publish, fromCoordinator, true},
		{"coordinator hears", coordinator.subscribe, fromAll, true},
		{"coordinator speaks as worker", coordinator.publish, fromWorker, false},
		{"worker publishes", worker.publish, fromWorker, true},
		{"worker hears", worker.subscribe, fromCoordinator, true},
		{"worker leads", worker.publish, fromCoordinator, false},
		{"worker hears workers", worker.subscribe, slices.Concat(fromWorker, fromAll), false},
		{"worker speaks with another key", worker.publish, from(other), false},
		{"worker hears what another key is told", worker.subscribe, slices.Concat(to(other), []string{s.Worker("*@*"), wire.AssignSubject("*@*")}), false},
		{"operator publishes", operator.publish, slices.Concat(fromCoordinator, fromWorker), false},
		{"operator hears", operator.subscribe, slices.Concat(fromCoordinator, fromWorker), false},
	} {
		for _, subject := range test.subjects {
			got := slices.ContainsFunc(test.may, func(pattern string) bool { return matches(pattern, subject) })
			if got != test.want {
				t.Errorf("%s: %s: got %v", test.name, subject, got)
			}
		}
	}
}

// matches is the rule of NATS for subjects.
func matches(pattern, subject string) bool {
	p, s := strings.Split(pattern, "."), strings.Split(subject, ".")
	for i, token := range p {
		if token == ">" {
			return len(s) > i
		}
		if i >= len(s) || token != "*" && token != s[i] {
			return false
		}
	}
	return len(p) == len(s)
}
