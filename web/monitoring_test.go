package web

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// monitoring is the folder with what Prometheus and Grafana are told.
const monitoring = "../deploy/monitoring"

func decode(t *testing.T, name string, into any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(monitoring, name))
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Ext(name) == ".json" {
		err = json.Unmarshal(data, into)
	} else {
		err = yaml.UnmarshalWithOptions(data, into, yaml.Strict())
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// exported are the names of all samples that /metrics has, with the suffixes of histograms.
func exported(t *testing.T) map[string]bool {
	t.Helper()
	_, _, body := measured(t, "").ask("GET", "/metrics")
	names := map[string]bool{"up": true} // Prometheus itself adds this one
	for line := range strings.Lines(body) {
		if !strings.HasPrefix(line, "#") {
			name, _, _ := strings.Cut(line, " ")
			name, _, _ = strings.Cut(name, "{")
			names[name] = true
		}
	}
	return names
}

// metricNames are what a query selects from: names followed by a selector, a range, an
// operator or the end, but not functions, labels and keywords.
var (
	literals    = regexp.MustCompile(`"[^"]*"|\[[^\]]*\]|\{[^}]*\}|(?:by|on) \([^)]*\)`)
	identifiers = regexp.MustCompile(`[a-zA-Z_][a-zA-Z0-9_]*\(?`)
)

func metricNames(query string) []string {
	var names []string
	for _, word := range identifiers.FindAllString(literals.ReplaceAllString(query, " "), -1) {
		if !strings.HasSuffix(word, "(") && word != "and" && word != "or" && word != "unless" && word != "sum" {
			names = append(names, word)
		}
	}
	return names
}

func checkQuery(t *testing.T, where, query string, names map[string]bool) {
	t.Helper()
	found := metricNames(query)
	if len(found) == 0 {
		t.Errorf("%s: %q names no metric", where, query)
	}
	for _, name := range found {
		if !names[name] {
			t.Errorf("%s: /metrics has no %s", where, name)
		}
	}
}

func TestMetricNames(t *testing.T) {
	got := strings.Join(metricNames(`histogram_quantile(0.5, sum by (run, le) (rate(a_bucket{x=~"$y",z="b"}[5m]))) and on (run) c == 1 or d{} / e[$__rate_interval] > 2`), " ")
	if got != "a_bucket c d e" {
		t.Errorf("got %q", got)
	}
}

func TestMonitoring_AlertsNameExportedMetrics(t *testing.T) {
	var prometheus struct {
		Global    map[string]string `yaml:"global"`
		RuleFiles []string          `yaml:"rule_files"`
		Scrape    []struct {
			Job           string `yaml:"job_name"`
			Authorization struct {
				Type string `yaml:"type"`
				File string `yaml:"credentials_file"`
			} `yaml:"authorization"`
			Static []struct {
				Targets []string `yaml:"targets"`
			} `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
	}
	decode(t, "prometheus.yml", &prometheus)
	if len(prometheus.Scrape) != 1 || prometheus.Scrape[0].Authorization.Type != "Bearer" || prometheus.Scrape[0].Authorization.File == "" || len(prometheus.RuleFiles) != 1 {
		t.Fatalf("got %+v", prometheus)
	}
	var alerts struct {
		Groups []struct {
			Name  string `yaml:"name"`
			Rules []struct {
				Alert       string            `yaml:"alert"`
				Expr        string            `yaml:"expr"`
				For         string            `yaml:"for"`
				Labels      map[string]string `yaml:"labels"`
				Annotations map[string]string `yaml:"annotations"`
			} `yaml:"rules"`
		} `yaml:"groups"`
	}
	decode(t, prometheus.RuleFiles[0], &alerts)
	names, seen := exported(t), map[string]bool{}
	for _, group := range alerts.Groups {
		for _, rule := range group.Rules {
			checkQuery(t, rule.Alert, rule.Expr, names)
			if rule.Labels["severity"] == "" || rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" {
				t.Errorf("%s lacks a severity, a summary or a description", rule.Alert)
			}
			seen[rule.Alert] = true
		}
	}
	for _, name := range []string{"RunWaits", "RunStalls", "WorkerQuarantined", "CheckpointOld"} {
		if !seen[name] {
			t.Errorf("there is no alert %s", name)
		}
	}
}

func TestMonitoring_DashboardNamesExportedMetrics(t *testing.T) {
	var sources struct {
		APIVersion  int `yaml:"apiVersion"`
		Datasources []struct {
			UID string `yaml:"uid"`
		} `yaml:"datasources"`
	}
	data, err := os.ReadFile(filepath.Join(monitoring, "grafana/provisioning/datasources/prometheus.yml"))
	if err == nil {
		err = yaml.Unmarshal(data, &sources)
	}
	if err != nil || len(sources.Datasources) != 1 {
		t.Fatalf("%+v, %v", sources, err)
	}
	var providers struct {
		APIVersion int              `yaml:"apiVersion"`
		Providers  []map[string]any `yaml:"providers"`
	}
	decode(t, "grafana/provisioning/dashboards/switchyard.yml", &providers)
	type target struct {
		Datasource struct{ UID string }
		Expr       string
	}
	var dashboard struct {
		UID        string
		Templating struct{ List []struct{ Definition string } }
		Panels     []struct {
			ID      int
			Title   string
			Type    string
			GridPos struct{ H, W, X, Y int }
			Targets []target
		}
	}
	decode(t, "grafana/dashboards/switchyard.json", &dashboard)
	names, ids := exported(t), map[int]bool{}
	for _, p := range dashboard.Panels {
		if ids[p.ID] || len(p.Targets) == 0 || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %s: id %d, %d queries, place %+v", p.Title, p.ID, len(p.Targets), p.GridPos)
		}
		ids[p.ID] = true
		for _, q := range p.Targets {
			checkQuery(t, "panel "+p.Title, q.Expr, names)
			if q.Datasource.UID != sources.Datasources[0].UID {
				t.Errorf("panel %s asks the data source %q", p.Title, q.Datasource.UID)
			}
		}
	}
	for _, v := range dashboard.Templating.List {
		checkQuery(t, "variable", strings.Split(strings.TrimPrefix(v.Definition, "label_values("), ",")[0], names)
	}
	if len(dashboard.Panels) < 10 {
		t.Errorf("%d panels", len(dashboard.Panels))
	}
}
