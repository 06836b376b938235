package check

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// unit is a unit file: the values of "Section.Key", in their order.
type unit map[string][]string

func parseUnit(t *testing.T, path string) unit {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	u, section := unit{}, ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		switch key, value, found := strings.Cut(line, "="); {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]"):
			section = strings.Trim(line, "[]")
		case !found || section == "":
			t.Errorf("%s: %q is no setting of a section", path, line)
		default:
			u[section+"."+key] = append(u[section+"."+key], value)
		}
	}
	return u
}

func unitPaths(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("../systemd/*.service")
	if err != nil || len(paths) != 3 {
		t.Fatalf("units %q, %v", paths, err)
	}
	return paths
}

// expanded are the arguments of ExecStart with the specifiers of systemd as they come out.
func expanded(t *testing.T, u unit) []string {
	t.Helper()
	if len(u["Service.ExecStart"]) != 1 {
		t.Fatalf("ExecStart: %q", u["Service.ExecStart"])
	}
	text := strings.NewReplacer("%d", "/run/credentials/x", "%S", "/var/lib", "%l", "host", "%i", "1").Replace(u["Service.ExecStart"][0])
	if strings.Contains(text, "%") {
		t.Errorf("%s: a specifier that this test does not know", text)
	}
	return strings.Fields(text)
}

func TestSystemd_ProgramKnowsItsArguments(t *testing.T) {
	for _, path := range unitPaths(t) {
		words := expanded(t, parseUnit(t, path))
		if words[0] != "/usr/local/bin/switchyard" {
			t.Errorf("%s runs %s", path, words[0])
		}
		if err := accepts(words[1:]); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// A unit has the credentials that it names, its own and no other's.
func TestSystemd_EachUnitItsOwnKeys(t *testing.T) {
	want := map[string][]string{
		"switchyard-broker.service":      {"nats-auth.conf", "server.key", "server.pem"},
		"switchyard-coordinator.service": {"ca.pem", "coordinator.nk"},
		"switchyard-worker@.service":     {"ca.pem", "worker.nk"},
	}
	for _, path := range unitPaths(t) {
		u := parseUnit(t, path)
		var names []string
		for _, credential := range u["Service.LoadCredential"] {
			name, from, _ := strings.Cut(credential, ":")
			if want := "/etc/switchyard/" + name; from != want && (name != "worker.nk" || from != "/etc/switchyard/worker-%i.nk") {
				t.Errorf("%s: credential %s from %s", path, name, from)
			}
			names = append(names, name)
		}
		slices.Sort(names)
		if !slices.Equal(names, want[filepath.Base(path)]) {
			t.Errorf("%s has the credentials %q, want %q", path, names, want[filepath.Base(path)])
		}
		for _, word := range expanded(t, u) {
			if _, name, found := strings.Cut(word, "/run/credentials/x/"); found && !slices.Contains(names, name) {
				t.Errorf("%s uses the credential %s, which is not loaded", path, name)
			}
		}
	}
}

func TestSystemd_UnitsMayDoNoMoreThanTheyMust(t *testing.T) {
	for _, path := range unitPaths(t) {
		u := parseUnit(t, path)
		for key, want := range map[string]string{
			"DynamicUser": "yes", "ProtectSystem": "strict", "ProtectHome": "yes", "PrivateDevices": "yes",
			"CapabilityBoundingSet": "", "MemoryDenyWriteExecute": "yes", "SystemCallFilter": "@system-service",
			"Restart": "always", "RestartPreventExitStatus": "2",
		} {
			if got := u["Service."+key]; len(got) != 1 || got[0] != want {
				t.Errorf("%s: %s is %q, want %q", path, key, got, want)
			}
		}
		for _, key := range []string{"MemoryMax", "TasksMax", "TimeoutStopSec"} {
			if len(u["Service."+key]) != 1 {
				t.Errorf("%s: %s is not set", path, key)
			}
		}
	}
}

// The folders into which the coordinator writes are those that its unit lets it write into.
func TestSystemd_CoordinatorWritesItsStateAlone(t *testing.T) {
	u := parseUnit(t, "../systemd/switchyard-coordinator.service")
	state := u["Service.StateDirectory"]
	if len(state) != 1 {
		t.Fatalf("StateDirectory is %q", state)
	}
	for _, flag := range []string{"--runs-dir", "--sweeps-dir"} {
		if want := flag + "=/var/lib/" + state[0] + "/"; !slices.ContainsFunc(expanded(t, u), func(w string) bool { return strings.HasPrefix(w, want) }) {
			t.Errorf("%s… is missing in %s", want, u["Service.ExecStart"])
		}
	}
}

// systemd itself reads the units, where it is installed.
func TestSystemd_Verify(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Log("systemd-analyze is not installed: the units were read by this test's parser only")
		return
	}
	binary, err := exec.LookPath("switchyard")
	if err != nil {
		t.Fatal(err)
	}
	verify := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "/usr/local/bin/switchyard", binary)), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(analyze, "verify", "--man=no", path).CombinedOutput()
		if err != nil {
			return err.Error() + ": " + string(out)
		}
		return string(out)
	}
	for _, path := range unitPaths(t) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if out := verify(filepath.Base(path), string(text)); out != "" {
			t.Errorf("%s: %s", path, out)
		}
		if out := verify(filepath.Base(path), strings.ReplaceAll(string(text), "DynamicUser=", "DynamicUsers=")); out == "" {
			t.Errorf("%s: systemd-analyze finds nothing wrong with DynamicUsers", path)
		}
	}
}
