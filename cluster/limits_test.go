package cluster

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
)

// The broker of the official image has the limits of the embedded one.
func TestOptions_AreThoseOfTheImage(t *testing.T) {
	dir := t.TempDir()
	text, err := os.ReadFile(filepath.Join("..", "deploy", "nats", "nats.conf"))
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"nats.conf": text, "nats-auth.conf": nil} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	image, err := server.ProcessConfigFile(filepath.Join(dir, "nats.conf"))
	if err != nil {
		t.Fatal(err)
	}
	embedded, err := (&Config{}).options()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := server.NewServer(embedded); err != nil { // it sets the defaults
		t.Fatal(err)
	}
	type limits struct {
		name                         string
		payload                      int32
		pending                      int64
		connections, subscriptions   int
		write, ping                  any
		pings                        int
		open, clustered, jetstreamed bool
	}
	of := func(o *server.Options) limits {
		return limits{
			o.ServerName, o.MaxPayload, o.MaxPending, o.MaxConn, o.MaxSubs, o.WriteDeadline, o.PingInterval, o.MaxPingsOut,
			o.NoAuthUser != "", o.Cluster.Port != 0, o.JetStream,
		}
	}
	if of(image) != of(embedded) {
		t.Errorf("image    %+v\nembedded %+v", of(image), of(embedded))
	}
	if image.HTTPHost != "127.0.0.1" {
		t.Errorf("the counters are shown on %q", image.HTTPHost)
	}
}
