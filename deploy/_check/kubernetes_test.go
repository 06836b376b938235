package check

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// cluster is what `kubectl apply -k deploy` makes.
type cluster struct {
	namespaces   []*corev1.Namespace
	configMaps   map[string]*corev1.ConfigMap
	secrets      map[string]*corev1.Secret
	services     []*corev1.Service
	deployments  []*appsv1.Deployment
	statefulSets []*appsv1.StatefulSet
	budgets      []*policyv1.PodDisruptionBudget
	policies     []*networkingv1.NetworkPolicy
}

// workload is what Deployment and StatefulSet have in common.
type workload struct {
	name     string
	selector map[string]string
	pod      corev1.PodTemplateSpec
	claims   []corev1.PersistentVolumeClaim
}

func (c *cluster) workloads() []workload {
	var list []workload
	for _, d := range c.deployments {
		list = append(list, workload{d.Name, d.Spec.Selector.MatchLabels, d.Spec.Template, nil})
	}
	for _, s := range c.statefulSets {
		list = append(list, workload{s.Name, s.Spec.Selector.MatchLabels, s.Spec.Template, s.Spec.VolumeClaimTemplates})
	}
	return list
}

// render runs kustomize over a copy of deploy/ with fresh keys and decodes what comes out
// strictly: a field that Kubernetes does not know is an error.
func render(t *testing.T) *cluster {
	t.Helper()
	dir := t.TempDir()
	for _, part := range []string{"kubernetes", "nats"} {
		if err := os.CopyFS(filepath.Join(dir, part), os.DirFS(filepath.Join("..", part))); err != nil {
			t.Fatal(err)
		}
	}
	kustomization, err := os.ReadFile("../kustomization.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), kustomization, 0o600); err != nil {
		t.Fatal(err)
	}
	keyFolder(t, filepath.Join(dir, "secrets"))
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatal(err)
	}
	decoder := strictDecoder(t)
	c := &cluster{configMaps: map[string]*corev1.ConfigMap{}, secrets: map[string]*corev1.Secret{}}
	for _, r := range resources.Resources() {
		text, err := r.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		object, _, err := decoder.Decode(text, nil, nil)
		if err != nil {
			t.Fatalf("%s %s: %v", r.GetKind(), r.GetName(), err)
		}
		if r.GetKind() != "Namespace" && r.GetNamespace() != "switchyard" {
			t.Errorf("%s %s is in the namespace %q", r.GetKind(), r.GetName(), r.GetNamespace())
		}
		c.add(t, object)
	}
	return c
}

func strictDecoder(t *testing.T) runtime.Decoder {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, networkingv1.AddToScheme, policyv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
}

func (c *cluster) add(t *testing.T, object runtime.Object) {
	t.Helper()
	switch o := object.(type) {
	case *corev1.Namespace:
		c.namespaces = append(c.namespaces, o)
	case *corev1.ConfigMap:
		c.configMaps[o.Name] = o
	case *corev1.Secret:
		c.secrets[o.Name] = o
	case *corev1.Service:
		c.services = append(c.services, o)
	case *appsv1.Deployment:
		c.deployments = append(c.deployments, o)
	case *appsv1.StatefulSet:
		c.statefulSets = append(c.statefulSets, o)
	case *policyv1.PodDisruptionBudget:
		c.budgets = append(c.budgets, o)
	case *networkingv1.NetworkPolicy:
		c.policies = append(c.policies, o)
	default:
		t.Errorf("%T is not checked", object)
	}
}

func TestKubernetes_StrictDecoderRefusesUnknownFields(t *testing.T) {
	text := "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {port: 1}\n"
	if _, _, err := strictDecoder(t).Decode([]byte(text), nil, nil); err == nil || !strings.Contains(err.Error(), "port") {
		t.Errorf("spec.port is no field of a Service: got %v", err)
	}
}

func TestKubernetes_WhatThereIs(t *testing.T) {
	c := render(t)
	var names []string
	for _, w := range c.workloads() {
		names = append(names, w.name)
	}
	slices.Sort(names)
	if want := []string{"coordinator", "nats", "worker"}; !slices.Equal(names, want) {
		t.Errorf("workloads %q, want %q", names, want)
	}
	if len(c.namespaces) != 1 || len(c.services) != 3 || len(c.budgets) != 1 || len(c.policies) == 0 {
		t.Errorf("%d namespaces, %d services, %d budgets, %d policies", len(c.namespaces), len(c.services), len(c.budgets), len(c.policies))
	}
}

// A worker's pod has the worker's key, and so on: a pod that is broken into gives away
// what its role may do, no more.
func TestKubernetes_EachPodItsOwnKeys(t *testing.T) {
	c := render(t)
	want := map[string][]string{
		"nats":        {"ca.pem", "cluster.conf", "nats-auth.conf", "nats-cluster.conf", "nats-tls.conf", "nats.conf", "route.key", "route.pem", "server.key", "server.pem", "tls.conf"},
		"coordinator": {"ca.pem", "coordinator.nk", "page.token"},
		"worker":      {"ca.pem", "worker-1.nk", "worker-2.nk", "worker-3.nk", "worker-4.nk", "worker-5.nk", "worker-6.nk", "worker-7.nk", "worker-8.nk"},
	}
	for _, w := range c.workloads() {
		var files []string
		for _, v := range w.pod.Spec.Volumes {
			files = append(files, c.files(t, w.name, v)...)
		}
		slices.Sort(files)
		if files = slices.Compact(files); !slices.Equal(files, want[w.name]) {
			t.Errorf("%s has the files %q, want %q", w.name, files, want[w.name])
		}
	}
}

// Of the keys of workers, which are one secret, the container of each sees its own alone.
func TestKubernetes_EachWorkerOneKey(t *testing.T) {
	c := render(t)
	at := slices.IndexFunc(c.statefulSets, func(s *appsv1.StatefulSet) bool { return s.Name == "worker" })
	if at < 0 {
		t.Fatal("workers are not numbered")
	}
	s := c.statefulSets[at]
	container := s.Spec.Template.Spec.Containers[0]
	own := false
	for _, m := range container.VolumeMounts {
		own = own || m.SubPathExpr == "$(WORKER).nk" && m.MountPath == "/keys/worker.nk"
		if m.Name != "tmp" && m.SubPath == "" && m.SubPathExpr == "" {
			t.Errorf("%s is mounted as a whole", m.Name)
		}
	}
	if !own || !slices.Contains(container.Args, "--nkey=/keys/worker.nk") {
		t.Error("a worker does not have the key of its number")
	}
	named := slices.ContainsFunc(container.Env, func(e corev1.EnvVar) bool {
		return e.Name == "WORKER" && e.ValueFrom != nil && e.ValueFrom.FieldRef.FieldPath == "metadata.name"
	})
	if !named || s.Spec.Ordinals == nil || s.Spec.Ordinals.Start != 1 || s.Spec.PodManagementPolicy != appsv1.ParallelPodManagement {
		t.Error("the pods are not called worker-1 and so on")
	}
	for _, v := range s.Spec.Template.Spec.Volumes {
		if n := len(c.files(t, s.Name, v)); v.Name == "keys" && n != int(*s.Spec.Replicas)+1 {
			t.Errorf("%d workers have %d keys", *s.Spec.Replicas, n-1)
		}
	}
}

// files are those that a volume brings, from objects that exist.
func (c *cluster) files(t *testing.T, owner string, v corev1.Volume) []string {
	t.Helper()
	var names []string
	secret := func(name string) {
		s, ok := c.secrets[name]
		if !ok {
			t.Errorf("%s: volume %s: no secret %s", owner, v.Name, name)
			return
		}
		for key := range s.Data {
			chosen := func(i corev1.KeyToPath) bool { return i.Key == key }
			if v.Secret == nil || v.Secret.Items == nil || slices.ContainsFunc(v.Secret.Items, chosen) {
				names = append(names, key)
			}
		}
	}
	switch {
	case v.Secret != nil:
		secret(v.Secret.SecretName)
	case v.Projected != nil:
		for _, source := range v.Projected.Sources {
			switch {
			case source.Secret != nil:
				secret(source.Secret.Name)
			case source.ConfigMap != nil && c.configMaps[source.ConfigMap.Name] != nil:
				for key := range c.configMaps[source.ConfigMap.Name].Data {
					names = append(names, key)
				}
			default:
				t.Errorf("%s: volume %s: a source that does not exist", owner, v.Name)
			}
		}
	case v.EmptyDir == nil:
		t.Errorf("%s: volume %s is neither secret nor scratch", owner, v.Name)
	}
	return names
}

// The profile "restricted" of Pod Security, which the namespace enforces, and more.
func TestKubernetes_PodsMayDoNoMoreThanTheyMust(t *testing.T) {
	c := render(t)
	if got := c.namespaces[0].Labels["pod-security.kubernetes.io/enforce"]; got != "restricted" {
		t.Errorf("the namespace enforces %q", got)
	}
	no := func(b *bool) bool { return b != nil && !*b }
	yes := func(b *bool) bool { return b != nil && *b }
	for _, w := range c.workloads() {
		spec := w.pod.Spec
		security := spec.SecurityContext
		switch {
		case !no(spec.AutomountServiceAccountToken):
			t.Errorf("%s has a service account's token", w.name)
		case !no(spec.EnableServiceLinks):
			t.Errorf("%s gets variables for services, which may look like keys of the configuration", w.name)
		case spec.HostNetwork || spec.HostPID || spec.HostIPC:
			t.Errorf("%s is in a namespace of its host", w.name)
		case security == nil || !yes(security.RunAsNonRoot) || security.SeccompProfile == nil ||
			security.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault:
			t.Errorf("%s: security context %+v", w.name, security)
		}
		for _, container := range spec.Containers {
			s := container.SecurityContext
			if s == nil || !no(s.AllowPrivilegeEscalation) || !yes(s.ReadOnlyRootFilesystem) ||
				s.Capabilities == nil || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) || s.Capabilities.Add != nil {
				t.Errorf("%s: container %s: security context %+v", w.name, container.Name, s)
			}
			if container.Resources.Limits.Memory().IsZero() || container.Resources.Requests.Cpu().IsZero() {
				t.Errorf("%s: container %s: no limit of memory or no request of a processor", w.name, container.Name)
			}
		}
	}
}

func TestKubernetes_SelectorsMountsAndPortsExist(t *testing.T) {
	c := render(t)
	for _, w := range c.workloads() {
		if !matches(w.selector, w.pod.Labels) {
			t.Errorf("%s does not select its own pods", w.name)
		}
		volumes := map[string]bool{}
		for _, v := range w.pod.Spec.Volumes {
			volumes[v.Name] = true
		}
		for _, claim := range w.claims {
			volumes[claim.Name] = true
		}
		for _, m := range w.pod.Spec.Containers[0].VolumeMounts {
			if !volumes[m.Name] {
				t.Errorf("%s mounts %s, which is no volume", w.name, m.Name)
			}
			delete(volumes, m.Name)
		}
		for name := range volumes {
			t.Errorf("%s does not mount its volume %s", w.name, name)
		}
	}
	for _, s := range c.services {
		w := c.selected(t, s.Name, s.Spec.Selector)
		for _, port := range s.Spec.Ports {
			ports := w.pod.Spec.Containers[0].Ports
			i := slices.IndexFunc(ports, func(p corev1.ContainerPort) bool { return p.Name == port.TargetPort.String() })
			if i < 0 || ports[i].ContainerPort != port.Port {
				t.Errorf("service %s: port %s is not one of %s", s.Name, port.TargetPort.String(), w.name)
			}
		}
	}
	for _, b := range c.budgets {
		c.selected(t, b.Name, b.Spec.Selector.MatchLabels)
	}
	for _, s := range c.statefulSets {
		if !slices.ContainsFunc(c.services, func(v *corev1.Service) bool { return v.Name == s.Spec.ServiceName }) {
			t.Errorf("%s: no service %s", s.Name, s.Spec.ServiceName)
		}
	}
}

// selected is the one workload that a selector means.
func (c *cluster) selected(t *testing.T, by string, selector map[string]string) workload {
	t.Helper()
	var found []workload
	for _, w := range c.workloads() {
		if matches(selector, w.pod.Labels) {
			found = append(found, w)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%s selects %d workloads", by, len(found))
	}
	return found[0]
}

func matches(selector, labels map[string]string) bool {
	for key, value := range selector {
		if labels[key] != value {
			return false
		}
	}
	return true
}

func TestKubernetes_ProgramKnowsItsArguments(t *testing.T) {
	for _, w := range render(t).workloads() {
		container := w.pod.Spec.Containers[0]
		if w.name == "nats" {
			continue
		}
		if !strings.HasPrefix(container.Image, "registry.example.org/switchyard:") || container.Command != nil {
			t.Errorf("%s runs %s %q", w.name, container.Image, container.Command)
		}
		if err := accepts(container.Args); err != nil {
			t.Errorf("%s: %v", w.name, err)
		}
		if container.LivenessProbe == nil {
			t.Errorf("%s is not looked after", w.name)
		}
		for _, probe := range []*corev1.Probe{container.StartupProbe, container.LivenessProbe, container.ReadinessProbe} {
			if probe == nil {
				continue
			}
			command := probe.Exec.Command
			if command[0] != "/bin/switchyard" {
				t.Errorf("%s: a probe runs %s, which the image does not have", w.name, command[0])
			}
			if err := accepts(command[1:]); err != nil {
				t.Errorf("%s: probe: %v", w.name, err)
			}
		}
		for _, argument := range container.Args {
			if _, path, found := strings.Cut(argument, "=/"); found && !mounted(container, "/"+path) {
				t.Errorf("%s: %s lies on no volume", w.name, argument)
			}
		}
	}
}

func mounted(container corev1.Container, path string) bool {
	return slices.ContainsFunc(container.VolumeMounts, func(m corev1.VolumeMount) bool {
		return path == m.MountPath || strings.HasPrefix(path, m.MountPath+"/")
	})
}
