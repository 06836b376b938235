package terminal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
)

// What a terminal would obey gets to none, whoever prints it; JSON keeps its value.
func TestHostileText(t *testing.T) {
	const text = "a\x1b[31mb\x07c\x9bd\u202ee\u2066f\u0085g\rh\xffi\u2028j"
	var direct, table, facts bytes.Buffer
	out := Fold(&direct, func() int { return 0 }, "p")
	fmt.Fprintf(out, "%s\ttab\n", text)
	rows := NewTable("name")
	rows.Row(text + "\nroot  running")
	if _, err := rows.WriteTo(&table); err != nil {
		t.Fatal(err)
	}
	if err := (Facts{{"plan", text + "\nplan again"}}).Write(&facts); err != nil {
		t.Fatal(err)
	}
	const plain = "a\ufffd[31mb\ufffdc\ufffdd\ufffde\ufffdf\ufffdg\ufffdh\ufffdi\ufffdj"
	if got := direct.String(); got != plain+"\ttab\n" {
		t.Errorf("an output gets %q", got)
	}
	if got := table.String(); !strings.HasSuffix(got, "\n"+plain+"\ufffdroot  running\n") {
		t.Errorf("a table gets %q", got)
	}
	if got := facts.String(); got != "plan      "+plain+"\ufffdplan again\n" {
		t.Errorf("facts get %q", got)
	}
	was, err := json.Marshal(strings.ToValidUTF8(text, "?"))
	if err != nil {
		t.Fatal(err)
	}
	var now string
	if err := json.Unmarshal([]byte(JSON(string(was))), &now); err != nil || now != strings.ToValidUTF8(text, "?") {
		t.Errorf("JSON has the value %q, %v", now, err)
	}
	if i := strings.IndexFunc(JSON(string(was)), hostile); i >= 0 {
		t.Errorf("%q in JSON", JSON(string(was))[i:])
	}
}

// The colours of a logger stay, and nothing that looks like them: a colour that never ends, or one without a level.
func TestLines_Colours(t *testing.T) {
	var out bytes.Buffer
	log := hclog.New(&hclog.LoggerOptions{
		Output: Fold(&out, func() int { return 0 }, "p"), Color: hclog.ForceColor, ColorHeaderOnly: true, DisableTime: true,
	})
	log.Warn("\x1b[8mhidden\x1b[0m \x1b[91mred")
	if got, want := out.String(), "\x1b[93m[WARN] \x1b[0m \ufffd[8mhidden\ufffd[0m \ufffd[91mred\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
