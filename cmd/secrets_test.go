package cmd

import (
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/switchyard-ml/switchyard/cluster"
	"github.com/switchyard-ml/switchyard/wire"
)

// A file of the repository holds no key. The patterns do not match themselves.
var (
	seedPattern = regexp.MustCompile(`\bS[ACNOUX][A-Z2-7]{56}\b`)
	pemPattern  = regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----\s+[A-Za-z0-9+/]{40}`)
)

func TestRepository_HoldsNoSecret(t *testing.T) {
	t.Parallel()
	root := ".."
	read := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		switch name { // what git ignores
		case ".git", "runs", "vendor", ".build", "switchyard", filepath.Join("deploy", "secrets"):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if !entry.Type().IsRegular() || filepath.Ext(name) == ".test" {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		read++
		if seedPattern.Match(data) || pemPattern.Match(data) {
			t.Errorf("%s holds a secret", name)
		}
		return nil
	})
	if err != nil || read < 100 {
		t.Errorf("read %d files: %v", read, err)
	}
}

// The patterns know the secrets that init makes.
func TestRepository_PatternsMatch(t *testing.T) {
	t.Parallel()
	c, dir := newCLI(t), t.TempDir()
	c.must("init", "--dir", dir)
	for file, pattern := range map[string]*regexp.Regexp{
		"coordinator.nk": seedPattern, "worker.nk": seedPattern, "operator.nk": seedPattern, "ca.key": pemPattern, "server.key": pemPattern,
	} {
		if data, err := os.ReadFile(filepath.Join(dir, file)); err != nil || !pattern.Match(data) {
			t.Errorf("%s is not recognised: %v", file, err)
		}
	}
}

// Everybody sees the arguments of a process: no flag takes a secret, only the name of a file with one.
func TestFlags_TakeNoSecret(t *testing.T) {
	t.Parallel()
	about := regexp.MustCompile(`(?i)token|nkey|key|password|passphrase|secret|credential|certificate|authority`)
	files := map[string]bool{"nkey": true, "tls-ca": true, "web-token-file": true, "keys": true, "token-file": true}
	a := &app{kinds: builtin(), invoked: "switchyard", cores: 1, out: &buffer{}, err: &buffer{}}
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !about.MatchString(f.Name+" "+f.Usage) || f.Value.Type() == "bool" || c.Name() == "init" {
				return
			}
			if !files[f.Name] || !strings.Contains(f.Usage, "file") && !strings.Contains(f.Usage, "folder") {
				t.Errorf("%s --%s: is it the name of a file?", c.CommandPath(), f.Name)
			}
		})
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(a.rootCommand())
}

// party is a command line of a cluster that runs until a signal ends it.
type party struct {
	out, err buffer
	signals  chan os.Signal
	done     chan int
}

func (c *cli) party(arguments ...string) *party {
	p := &party{signals: make(chan os.Signal, 2), done: make(chan int, 1)}
	a := &app{
		kinds: builtin(),
		out:   &p.out, err: &p.err, environ: []string{"SWITCHYARD_RUNS_DIR=" + c.dir}, signals: p.signals, invoked: "switchyard", cores: 1,
	}
	go func() { p.done <- a.run(arguments) }()
	return p
}

func (p *party) end() string {
	p.signals <- syscall.SIGTERM
	<-p.done
	return p.out.String() + p.err.String()
}

// No secret of a cluster with keys, TLS and a page appears with --verbose in the output of its processes or in the
// folder of its runs, nor when a client uses a wrong key or gives a seed for the name of a file.
func TestSession_SaysNoSecret(t *testing.T) {
	t.Parallel()
	c, dir, other := newCLI(t), t.TempDir(), t.TempDir()
	c.must("init", "--dir", dir)
	c.must("init", "--dir", other)
	file := func(name string) string { return filepath.Join(dir, name) }

	server := c.party("broker", "--listen", "127.0.0.1:0", "--keys", dir, "--tls", "--verbose")
	await(t, func() bool { return strings.Contains(server.out.String(), "\n") })
	url := strings.TrimSpace(server.out.String())
	link := func(key string) []string {
		return []string{"--nats", url, "--nkey", key, "--tls-ca", file("ca.pem"), "--verbose"}
	}
	lead := c.party(append(link(file("coordinator.nk")), "coordinator", "--web", "127.0.0.1:0", "--web-token-file", file("page.token"))...)
	await(t, func() bool { return strings.Contains(lead.err.String(), "coordinator ready") })
	tokens := overhear(t, url, file("coordinator.nk"), file("ca.pem"))
	parties := []*party{
		lead,
		c.party(append(link(file("worker.nk")), "worker", "--id", "honest")...),
		c.party(append(link(file("operator.nk")), "worker", "--id", "wrong-role")...),
		c.party(append(link(filepath.Join(other, "worker.nk")), "worker", "--id", "stranger")...),
		c.party("worker", "--nats", url, "--nkey", file("worker.nk"), "--tls-ca", filepath.Join(other, "ca.pem"), "--verbose"),
	}
	submit := c.run(append([]string{"submit", "noise/smoke", "--name", "run", "--wait"}, link(file("operator.nk"))...)...)
	if submit.code != exitOK {
		t.Fatalf("exit code %d\n%s\n%s", submit.code, submit.err, lead.err.String())
	}
	said := submit.out + submit.err
	said += visitPage(t, lead.err.String(), file("page.token"))
	seed, page := secrets(t, dir)[0], secrets(t, dir)[len(secrets(t, dir))-1]
	for i, arguments := range [][]string{
		append([]string{"runs", "ls"}, link(file("operator.nk"))...),
		append([]string{"runs", "ls"}, link(seed)...),
		{"runs", "ls", "--nats", url, "--nkey", file("operator.nk"), "--tls-ca", seed},
		{"runs", "ls", "--nats", url, "--nkey", file("page.token"), "--tls-ca", file("server.key")},
		{"runs", "ls", "--nats", "nats://" + seed + "@127.0.0.1:4222"},
		{"serve", "--web", "127.0.0.1:0", "--web-token-file", page},
	} {
		r := c.run(arguments...)
		if (r.code == exitOK) != (i == 0) || strings.Count(r.err, "error: ") > 1 {
			t.Errorf("%q: exit code %d\n%s", arguments, r.code, r.err)
		}
		said += r.out + r.err
	}
	for _, p := range append(parties, server) {
		said += p.end()
	}
	said += treeOf(t, c.dir)
	for _, want := range []string{"connected to the broker", "broker ready", "honest", "stranger", "params_sha256"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q was not said: the test hears too little", want)
		}
	}
	for _, secret := range slices.Concat(secrets(t, dir), secrets(t, other), tokens()) {
		if at := strings.Index(said, secret); at >= 0 {
			t.Errorf("a secret is said: %s", strings.ReplaceAll(said[max(0, at-200):min(len(said), at+100)], secret, "<secret>"))
		}
	}
}

// overhear subscribes to the messages of workers, as a coordinator may. It returns the tokens found so far, in every
// notation.
func overhear(t *testing.T, url, key, ca string) (tokens func() []string) {
	t.Helper()
	bus, err := cluster.Connect(cluster.BusConfig{URL: url, Name: "test", NKeyFile: key, CAFile: ca, Log: hclog.NewNullLogger()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(bus.Close)
	var mu sync.Mutex
	heard := map[uint64]bool{}
	if _, err := bus.Hear("sypool.seek", func(_ string, data []byte) {
		if m, err := wire.Decode(data); err == nil && m.Head().Token != 0 {
			mu.Lock()
			heard[m.Head().Token] = true
			mu.Unlock()
		}
	}); err != nil {
		t.Fatal(err)
	}
	return func() (list []string) {
		mu.Lock()
		defer mu.Unlock()
		for token := range heard {
			list = append(list, strconv.FormatUint(token, 10), strconv.FormatUint(token, 16))
		}
		if len(list) == 0 {
			t.Error("no worker was overheard")
		}
		return list
	}
}

// visitPage requests the page of a coordinator with and without its token. It returns the answer without.
func visitPage(t *testing.T, log, tokenFile string) string {
	t.Helper()
	url := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(log)
	token, err := os.ReadFile(tokenFile)
	if url == "" || err != nil {
		t.Fatalf("where is the page? %v\n%s", err, log)
	}
	var said strings.Builder
	for _, path := range []string{"/", "/?token=" + strings.TrimSpace(string(token)), "/healthz", "/metrics"} {
		response, err := http.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		if err := response.Write(&said); err != nil {
			t.Error(err)
		}
		response.Body.Close()
	}
	http.DefaultClient.CloseIdleConnections()
	return said.String()
}

// treeOf is the text of all files below a folder.
func treeOf(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		b.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
