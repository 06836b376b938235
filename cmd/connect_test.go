package cmd

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/config"
)

func TestConnection_Address(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ text, want, hint string }{
		{"nats://127.0.0.1:4222", "nats://127.0.0.1:4222", ""},
		{"broker", "nats://broker", ""},
		{"broker:4300", "nats://broker:4300", ""},
		{"[::1]:4222", "nats://[::1]:4222", ""},
		{"tls://broker.example/", "tls://broker.example", ""},
		{"nats://a:1, nats://b:2", "nats://a:1,nats://b:2", ""},
		{"", "", "--nats nats://127.0.0.1:4222"},
		{"a,", "", "the host is missing"},
		{"http://broker:8080", "", "address of a page"},
		{"redis://broker", "", "begins with nats://"},
		{"nats://:4222", "", "the host is missing"},
		{"broker:0", "", "1 to 65535"},
		{"broker:70000", "", "1 to 65535"},
		{"nats://broker:4222/x", "", "nothing comes after"},
		{"nats://bro ker", "", "nats://127.0.0.1:4222"},
		{"nats://user:SECRET@broker:4222", "", "--nkey FILE"},
		{"a:1,SECRET@broker", "", "--nkey FILE"},
		{"nats://user:SECRET@bro ker:x", "", "--nkey FILE"},
	} {
		f := connection{url: test.text}
		err := f.check(&cobra.Command{Use: "worker"})
		hint := config.HintOf(err)
		if test.hint == "" {
			if err != nil || f.url != test.want {
				t.Errorf("%q: got %q, %v, want %q", test.text, f.url, err, test.want)
			}
			continue
		}
		if !errors.Is(err, config.ErrUsage) || !strings.Contains(hint, test.hint) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%q: got %v with hint %q, want %q", test.text, err, hint, test.hint)
		}
	}
}

func TestConnection_Environment(t *testing.T) {
	t.Parallel()
	a := &app{environ: []string{"SWITCHYARD_NATS=nats://a", "SWITCHYARD_NKEY=k.nk", "SWITCHYARD_TLS_CA=ca.pem", "SWITCHYARD_OPTIM_RATE=1"}}
	var f connection
	c := &cobra.Command{}
	f.add(c, a)
	if err := c.ParseFlags([]string{"--nkey", "other.nk"}); err != nil {
		t.Fatal(err)
	}
	if want := (connection{"nats://a", "other.nk", "ca.pem"}); f != want {
		t.Errorf("got %+v, want %+v", f, want)
	}
	if got := a.settings(); len(got) != 1 {
		t.Errorf("settings of the configuration: %v", got)
	}
}

// A key or an authority without a broker is a mistake: what was meant for a coordinator would be done to the folder of runs.
func TestConnection_KeyWithoutABroker(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	for _, line := range []string{
		"ban UDXU4RCSJNZO", "unban UDXU4RCSJNZO", "runs ls", "runs show x", "sweep ls", "sweep stop x", "doctor",
	} {
		for _, flag := range []string{"--nkey", "--tls-ca"} {
			r := c.run(append(strings.Fields(line), flag, "operator.nk")...)
			if r.code != exitUsage || !strings.Contains(r.err, flag+" is about the broker of --nats") {
				t.Errorf("%s %s: exit code %d, %q %q", line, flag, r.code, r.out, r.err)
			}
		}
	}
	c.environ = []string{"SWITCHYARD_NKEY=operator.nk", "SWITCHYARD_TLS_CA=ca.pem"}
	c.must("runs", "ls") // what the environment says is there for other commands
}

func TestConnection_FilesThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	f := connection{url: "nats://127.0.0.1:1", nkey: "no/such.nk"}
	_, err := f.connect("test", hclog.NewNullLogger())
	hint := config.HintOf(err)
	if exitCode(err) != exitUsage || !strings.Contains(err.Error(), "no/such.nk") || !strings.Contains(hint, "switchyard init") {
		t.Errorf("got %v with hint %q", err, hint)
	}
}

func TestReach_Interrupted(t *testing.T) {
	t.Parallel()
	f := connection{url: "nats://127.0.0.1:1"}
	bus, err := f.connect("test", hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	defer bus.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := reach(ctx, bus, f.url); err == nil || !strings.Contains(err.Error(), "interrupted before the broker") {
		t.Errorf("got %v", err)
	}
}

// What the environment holds is used, and not shown.
func TestConnection_HelpShowsNoEnvironment(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.environ = []string{"SWITCHYARD_NATS=nats://someone:secret@127.0.0.1:1", "SWITCHYARD_NKEY=mine.nk"}
	for _, line := range []string{"worker --help", "runs ls --help", "coordinator --help", "submit --help"} {
		if r := c.must(strings.Fields(line)...); strings.Contains(r.out, "secret") || strings.Contains(r.out, "mine.nk") {
			t.Errorf("%s shows the environment:\n%s", line, r.out)
		}
	}
	if r := c.run("runs", "ls"); r.code != exitUsage || strings.Contains(r.err, "secret") {
		t.Errorf("exit code %d\n%s", r.code, r.err)
	}
}
