package check

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

const (
	tlsOverlay        = "deploy/compose.tls.yml"
	clusterOverlay    = "deploy/compose.cluster.yml" // on top of tlsOverlay
	monitoringOverlay = "deploy/compose.monitoring.yml"
)

// load reads docker-compose.yml and overlays with the parser of Compose v2, all profiles
// on. The older docker-compose reads them in deploy/compose_test.sh.
func load(t *testing.T, variables []string, overlays ...string) *types.Project {
	t.Helper()
	paths := []string{filepath.Join(root, "docker-compose.yml")}
	for _, o := range overlays {
		paths = append(paths, filepath.Join(root, o))
	}
	options, err := cli.NewProjectOptions(paths, cli.WithEnv(variables), cli.WithProfiles([]string{"*"}), cli.WithName("check"))
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return project
}

// ours reports whether a service runs the program.
func ours(s types.ServiceConfig) bool { return s.Build != nil }

func TestCompose_ProgramKnowsItsArguments(t *testing.T) {
	for _, overlays := range [][]string{nil, {tlsOverlay}, {tlsOverlay, clusterOverlay}, {monitoringOverlay}} {
		for name, s := range load(t, nil, overlays...).Services {
			if !ours(s) || name == "operator" { // whose arguments come from people
				continue
			}
			if err := accepts(s.Command); err != nil {
				t.Errorf("%s with %q: %v", name, overlays, err)
			}
			if s.HealthCheck == nil {
				if name != "init" {
					t.Errorf("%s has no health check", name)
				}
				continue
			}
			if s.HealthCheck.Test[0] != "CMD" || s.HealthCheck.Test[1] != "/bin/switchyard" {
				t.Errorf("%s: health check %q; the image has no shell", name, s.HealthCheck.Test)
			} else if err := accepts(s.HealthCheck.Test[2:]); err != nil {
				t.Errorf("%s: health check: %v", name, err)
			}
		}
	}
}

func TestCompose_ContainersMayDoNoMoreThanTheyMust(t *testing.T) {
	for name, s := range load(t, nil, tlsOverlay, clusterOverlay, monitoringOverlay).Services {
		if !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) || s.CapAdd != nil || s.Privileged ||
			!slices.Contains(s.SecurityOpt, "no-new-privileges:true") {
			t.Errorf("%s is not hardened", name)
		}
		if s.PidsLimit <= 0 && (s.Deploy == nil || s.Deploy.Resources.Limits == nil || s.Deploy.Resources.Limits.Pids <= 0) {
			t.Errorf("%s may start any number of processes", name)
		}
		if s.Logging == nil || s.Logging.Options["max-size"] == "" {
			t.Errorf("%s: its log may fill the disk", name)
		}
		for _, p := range s.Ports {
			if p.HostIP != "127.0.0.1" && name != "nats" {
				t.Errorf("%s is reached from other machines on port %s", name, p.Published)
			}
		}
		for _, v := range s.Volumes {
			if strings.HasPrefix(v.Source, "keys") && name != "init" && !v.ReadOnly {
				t.Errorf("%s can change its keys", name)
			}
		}
	}
}

// The broker is on no port of the machine unless it asks for TLS.
func TestCompose_BrokerOutsideOnlyWithTLS(t *testing.T) {
	if s := load(t, nil).Services["nats"]; len(s.Ports) != 0 || !slices.Equal(s.NetworksByPriority(), []string{"bus"}) {
		t.Errorf("without TLS the broker has the ports %v and the networks %q", s.Ports, s.NetworksByPriority())
	}
	project := load(t, nil, tlsOverlay)
	if s := project.Services["nats"]; len(s.Ports) != 1 || s.Ports[0].Target != 4222 || !strings.HasSuffix(s.Command[0], "/tls.conf") {
		t.Errorf("with TLS the broker has the ports %v and runs %q", s.Ports, s.Command)
	}
	for _, name := range []string{"coordinator", "worker", "operator"} {
		environment := project.Services[name].Environment
		if url, ca := environment["SWITCHYARD_NATS"], environment["SWITCHYARD_TLS_CA"]; *url != "tls://nats:4222" || ca == nil {
			t.Errorf("%s does not use TLS", name)
		}
	}
}

// Each role mounts the keys that init hands out to it, where its variables point.
func TestCompose_EachServiceItsOwnKeys(t *testing.T) {
	services := load(t, nil).Services
	roles := map[string]string{"nats": "broker", "coordinator": "coordinator", "worker": "worker", "operator": "operator"}
	for name, role := range roles {
		var keys []string
		for _, v := range services[name].Volumes {
			if strings.HasPrefix(v.Source, "keys") {
				keys = append(keys, v.Source+" at "+v.Target)
			}
		}
		if want := []string{"keys-" + role + " at /keys"}; !slices.Equal(keys, want) {
			t.Errorf("%s has the keys %q, want %q", name, keys, want)
		}
		if !slices.Contains(services["init"].Command, "--hand-out="+role+"=/init/"+role) {
			t.Errorf("init hands nothing out to the %s", role)
		}
	}
	for _, name := range []string{"coordinator", "worker", "operator"} {
		want := "/keys/" + name + ".nk"
		if name == "worker" {
			want = "/keys" // one of its own, which it chooses
		}
		if nkey := services[name].Environment["SWITCHYARD_NKEY"]; nkey == nil || *nkey != want {
			t.Errorf("%s: SWITCHYARD_NKEY", name)
		}
	}
}

// With the overlay of clusters the broker takes routes, and workers, which carry servers, have the key of routes.
func TestCompose_Cluster(t *testing.T) {
	services := load(t, nil, tlsOverlay, clusterOverlay).Services
	if s := services["nats"]; len(s.Ports) != 2 || s.Ports[1].Target != 6222 || !strings.HasSuffix(s.Command[0], "/cluster.conf") {
		t.Errorf("the broker has the ports %v and runs %q", s.Ports, s.Command)
	}
	var keys []string
	for _, v := range services["worker"].Volumes {
		keys = append(keys, v.Source+" at "+v.Target)
	}
	slices.Sort(keys)
	if want := []string{"keys-route at /route", "keys-worker at /keys", "shared at /shared"}; !slices.Equal(keys, want) {
		t.Errorf("a worker has the keys %q, want %q", keys, want)
	}
	if !slices.Contains(services["init"].Command, "--hand-out=route=/init/route") || !slices.Contains(services["worker"].Command, "--cluster-seed=nats:6222") {
		t.Errorf("init: %q, worker: %q", services["init"].Command, services["worker"].Command)
	}
	if s := load(t, nil, tlsOverlay).Services["worker"]; len(s.Volumes) != 2 {
		t.Errorf("without the overlay a worker has the volumes %v", s.Volumes)
	}
}

// Coordinator and workers, and nobody else, meet in a volume that nobody else may write, with all overlays.
func TestCompose_SharedMemory(t *testing.T) {
	project := load(t, nil, tlsOverlay, clusterOverlay, monitoringOverlay)
	for name, s := range project.Services {
		meets := slices.ContainsFunc(s.Volumes, func(v types.ServiceVolumeConfig) bool {
			return v.Source == "shared" && v.Target == "/shared" && !v.ReadOnly
		})
		if want := name == "coordinator" || name == "worker"; meets != want || slices.Contains(s.Command, "--shared-memory=/shared") != want {
			t.Errorf("%s: volumes %v, command %q", name, s.Volumes, s.Command)
		}
	}
	options := project.Volumes["shared"].DriverOpts
	if options["type"] != "tmpfs" || !strings.Contains(options["o"], "mode=0700,uid=65532") {
		t.Errorf("the volume has the options %v", options)
	}
}

func TestCompose_WorkersScale(t *testing.T) {
	s := load(t, []string{"SLOTS=3", "PRESET="}).Services["worker"]
	if s.ContainerName != "" || len(s.Ports) != 0 || s.Restart != "unless-stopped" {
		t.Errorf("worker: name %q, ports %v, restart %q", s.ContainerName, s.Ports, s.Restart)
	}
	if want := (types.ShellCommand{"worker", "--slots=3", "--shared-memory=/shared"}); !slices.Equal(s.Command, want) {
		t.Errorf("worker: %q, want %q", s.Command, want)
	}
}

// What the older docker-compose does not know.
func TestCompose_OlderToolReadsItToo(t *testing.T) {
	project := load(t, nil, tlsOverlay, monitoringOverlay)
	for name, s := range project.Services {
		if s.HealthCheck != nil && s.HealthCheck.StartInterval != nil {
			t.Errorf("%s: start_interval", name)
		}
		if s.Develop != nil || s.Build != nil && (s.Build.DockerfileInline != "" || s.Build.AdditionalContexts != nil) {
			t.Errorf("%s: develop, dockerfile_inline or additional_contexts", name)
		}
		for on, d := range s.DependsOn {
			if d.Restart || !d.Required {
				t.Errorf("%s: depends_on %s with restart or required", name, on)
			}
		}
	}
	for name, c := range project.Configs {
		if c.Content != "" {
			t.Errorf("config %s: content", name)
		}
	}
}
