package coordinator

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/store/checkpoint"
	"github.com/switchyard-ml/switchyard/wire"
)

// smallBus is a bus with a payload limit that breaks the messages above it.
type smallBus struct {
	*wire.Memory
	limit int
}

func (n smallBus) MaxPayload() int { return n.limit }

func (n smallBus) Publish(subject string, data []byte) error {
	if len(data) > n.limit {
		return fmt.Errorf("%w: %d bytes", wire.ErrTooLarge, len(data))
	}
	return n.Memory.Publish(subject, data)
}

// A configuration that no message or checkpoint can carry is refused at once, not waited on for ever.
func TestConfig_BeyondTheProtocol(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Config)
		size   int
		part   string
	}{
		"fits":              {func(*Config) {}, 6, ""},
		"shards":            {func(c *Config) { c.Shards = 2 * wire.MaxCount }, 6, "shards"},
		"validation shards": {func(c *Config) { c.ValidationShards = 2 * wire.MaxCount }, 6, "validation shards"},
		"parameters":        {func(*Config) {}, checkpoint.MaxParameters + 1, "parameters"},
		"term name":         {func(c *Config) { c.TermNames = []string{strings.Repeat("x", wire.MaxText+1)} }, 6, "term name"},
	} {
		cfg := valid(t.TempDir())
		c.change(&cfg)
		err := cfg.validate(c.size)
		if c.part == "" && err != nil || c.part != "" && (!errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), c.part)) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestNew_JobDoesNotFit(t *testing.T) {
	cfg := valid(t.TempDir())
	cfg.Job = make([]byte, 60_000)
	for limit, fits := range map[int]bool{64_000: false, 65_000: true} {
		_, err := New(cfg, make([]float32, 6), smallBus{wire.NewMemory(nil), limit}, nil, hclog.NewNullLogger())
		if fits != (err == nil) || !fits && (!errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "60000")) {
			t.Errorf("limit %d: got %v", limit, err)
		}
	}
}

// The limit of a broker that comes back may be another. What cannot be sent is logged, once per kind.
func TestPublish_NeverFits(t *testing.T) {
	var text bytes.Buffer
	bus := &smallBus{wire.NewMemory(nil), 65_000}
	c, err := New(valid(t.TempDir()), make([]float32, 6), bus, nil, hclog.New(&hclog.LoggerOptions{Output: &text, Level: hclog.Info}))
	if err != nil {
		t.Fatal(err)
	}
	bus.limit = 10
	for range 3 {
		c.sender.Send("", wire.Header{Run: "r"}, &wire.End{Reason: "done"})
		c.sender.Send("", wire.Header{Run: "r"}, &wire.Refusal{Reason: strings.Repeat("x", wire.MaxText+1)})
	}
	if got := strings.Count(text.String(), "[ERROR] message cannot be sent"); got != 2 {
		t.Errorf("logged %d times: %s", got, text.String())
	}
}

// A wait is logged each second while it is new, then every ten; the next wait begins anew.
func TestCoordinator_LogsWait(t *testing.T) {
	c, logged := &Coordinator{}, 0
	for s := 0.25; s < 100; s += 1.25 {
		if c.logsWait(s) {
			logged++
		}
	}
	if logged < 15 || logged > 18 {
		t.Errorf("logged %d times in 100 s", logged)
	}
	if !c.logsWait(0.25) || !c.logsWait(1.5) {
		t.Error("the next wait is not logged")
	}
}
