package bench

import (
	"io"
	"strings"
	"testing"
)

// sitting has two rounds of one preset, whose figures are easy to reckon.
const sitting = `[
{"kind":"machine","day":"2026-01-02","cpu":"Test CPU","cores":2,"kernel":"Linux 6","go":"go1.26","torch":"1.13","load":"0 0 0","commit":"abc","threads":2},
{"kind":"step","round":1,"step":{"preset":"maze","switching":"concrete","step_seconds":{"median":0.2,"min":0.1,"max":0.3},"gflops":100,"peak_fraction":0.5,"allocs_per_step":0}},
{"kind":"peer","round":1,"preset":"maze","switching":"concrete","coretype":"Haswell","setting":"threads","step_seconds":{"median":0.9,"min":0.8,"max":1}},
{"kind":"peer","round":1,"preset":"maze","switching":"concrete","coretype":"SkylakeX","setting":"threads","step_seconds":{"median":0.6,"min":0.5,"max":0.7}},
{"kind":"step","round":2,"step":{"preset":"maze","switching":"concrete","step_seconds":{"median":0.4,"min":0.35,"max":0.8},"gflops":50,"peak_fraction":0.3,"allocs_per_step":2}},
{"kind":"peer","round":2,"preset":"maze","switching":"concrete","coretype":"SkylakeX","setting":"threads","step_seconds":{"median":0.9,"min":0.4,"max":0.95}},
{"kind":"small","step":{"preset":"reacher","switching":"deterministic","step_seconds":{"median":0.0018,"min":0.0016,"max":0.004},"gflops":58.4,"peak_fraction":0.5}},
{"kind":"wire","wire":{"workers":2,"step_seconds":{"median":0.21,"min":0.2,"max":0.22},"plain_step_seconds":{"median":0.2,"min":0.19,"max":0.21},"overhead":0.05,"bytes_in_per_step":2097152,"bytes_out_per_step":1048576,"bytes_per_worker_step":2097152}},
{"kind":"profile","milliseconds":60,"share":60,"function":"m/autodiff/kernel.tile14x32AVX512"},
{"kind":"profile","milliseconds":36,"share":36,"function":"m/autodiff.(*Tape).New"},
{"kind":"profile","milliseconds":4,"share":4,"function":"runtime.memmove"},
{"kind":"kernels","kernels":[{"op":"nn","m":16,"n":32,"k":32,"peak_fraction":0.5},{"op":"nn","m":16,"n":64,"k":32,"peak_fraction":0.125},{"op":"exp","ns_per_value":0.3}]},
{"kind":"command","command":"a"},{"kind":"command","command":"b"},{"kind":"command","command":"a"},
{"kind":"end","seconds":600,"load":"1 1 1"}
]`

func TestReport(t *testing.T) {
	var out strings.Builder
	if err := WriteReport(&out, strings.NewReader(sitting)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Test CPU, 2 cores; Linux 6; go1.26; commit abc. Load average before: 0 0 0; at the end: 1 1 1. The session took 600 s.",
		// ours 0.3 between 0.1 and 0.8; the peer's better core type 0.75: 2.5 times
		"| maze | concrete | 0.300 (0.100–0.800) | 75 | 40.0 % | 2.0 | 0.750 (0.400–0.950) | 2.50 | | |\n",
		"| maze | concrete | threads | Haswell | 0.900 (0.800–1.000) | 1 |\n",
		"| reacher | deterministic | 1.80 (1.60–4.00) | 58 | 50.0 % |\n",
		"| 2 | 0.210 (0.200–0.220) | 0.200 (0.190–0.210) | +5.0 % | 2.00 | 1.00 | 2.00 |\n",
		"| matrix products | 60.0 % |\n| autodiff | 36.0 % |\n| Go runtime | 4.0 % |\n",
		"| `kernel.tile14x32AVX512` | 60.0 % | 60.0 % |\n| `autodiff.(*Tape).New` | 36.0 % | 96.0 % |\n\nMore functions (1): 4.0 % in total.",
		"| nn | 16 | 25.0 % |", "| exp | 0.30 |", "```\na\nb\n```",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report lacks %q", want)
		}
	}
	if t.Failed() {
		t.Log(out.String())
	}
}

func TestReport_SaysWhatIsMissing(t *testing.T) {
	for _, c := range []struct{ records, want string }{
		{"", "read the records"},
		{"[]", "kind machine"},
		{`[{"kind":"machine"},{"kind":"profile","function":"f"}]`, "no time"},
	} {
		if err := WriteReport(io.Discard, strings.NewReader(c.records)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want an error about %q", c.records, err, c.want)
		}
	}
}

// scalingRecords: a run of two workers takes 0.42 s instead of 0.4 s here, and 2.2 s instead of 2 s over a link.
const scalingRecords = `[
{"kind":"scale","preset":"maze","scale":{"load":{"install_seconds":0.01},"rows":[{"cluster":{"workers":2},"prediction":{"seconds":0.4,"compute_seconds":0.3,"update_seconds":0.01}}]}},
{"kind":"wire","preset":"maze","wire":{"workers":2,"step_seconds":{"median":0.42,"min":0.4,"max":0.5},"plain_step_seconds":{"median":0.35}}},
{"kind":"scale","preset":"maze","link":"1Gbit/s","exchange":"star","scale":{"rows":[{"cluster":{"workers":2},"prediction":{"seconds":2,"compute_seconds":0.5}}]}},
{"kind":"link","preset":"maze","link":"1Gbit/s","exchange":"star","workers":2,"steps":[
  {"values":{"step_seconds":2.2,"compute_seconds":0.4}},{"values":{"step_seconds":9,"compute_seconds":8}},{"values":{"step_seconds":2.0,"compute_seconds":0.6}}]}
]`

func TestComparison(t *testing.T) {
	var out strings.Builder
	if err := WriteReport(&out, strings.NewReader(scalingRecords)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| maze | 2 | 420 ms | 400 ms | -5 % | 350 ms | 320 ms | +20 % | +25 % |\n",
		// medians: 2.2 s a step, 1.4 s of it without gradients
		"| maze | 1Gbit/s | star | 2 | 2200 ms | 2000 ms | -9 % | 1400 ms | 1500 ms | +7 % |\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got\n%s\nwithout %q", out.String(), want)
		}
	}
	missing := strings.Replace(scalingRecords, `"workers":2},"prediction":{"seconds":0.4`, `"workers":3},"prediction":{"seconds":0.4`, 1)
	if err := WriteReport(io.Discard, strings.NewReader(missing)); err == nil {
		t.Error("a measurement without a prediction is no error")
	}
}
