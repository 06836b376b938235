package files

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPlan_JoinsByTimeAndID: rows of a plan belong to the recording and the step that they name; a step without a row, two
// rows of a step, and a time between two steps are errors.
func TestPlan_JoinsByTimeAndID(t *testing.T) {
	t.Parallel()
	const data = "t,y,u_force\n0.0,1,1\n0.1,2,1\n0.2,3,1\n"
	times := episodeTimes(t, "data", data, Options{})
	after := episodeTimes(t, "data", data, Options{ControlsAfter: true})
	for _, test := range []struct {
		text  string
		times *Times
		want  string // the first two rows, or an error
	}{
		{"t,u_force\n0.5,3\n0.4,2\n0.3,1\n", times, "[[1] [2]]"},
		{"t;force\n0,3;1,5\n0,4;2,5\n", times, "row 1"},
		{"force\n1\n2\n3\n", times, "[[1] [2]]"},
		{"t,u_force\n0.1,7\n0.3,1\n0.4,2\n", times, "[[1] [2]]"},
		{"t,u_force\n0.2,7\n0.3,1\n0.4,2\n", after, "[[7] [1]]"},
		{"t,u_force\n0.0,3\n0.1,2\n", times, "it has no row for 0.3"},
		{"t,u_force\n0.3,3\n0.35,2\n", times, "0.35 lies between two steps"},
		{"t,u_force\n0.3,3\n0.3,2\n", times, "row 2: it has the same time as row 1"},
		{"t,episode,force\n0.3,a,1\n0.3,b,3\n0.4,b,4\n0.4,a,2\n", times, "[[3] [4]]"},
		{"episode,force\na,1\nb,3\nb,4\n", nil, "[[3] [4]]"},
		{"episode,force\na,1\nb,3\n", nil, "it has no row for step 2 of the forecast of b"},
		{"t,u_force\n0.3,\n", times, "controls cannot be missing"},
		{"t,u_torque\n0.3,1\n", times, "there is no column u_force"},
		{"t,u_force\n", times, "it has no rows"},
	} {
		path := filepath.Join(t.TempDir(), "plan.csv")
		if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := ReadPlan(path, []string{"u_force"}, []string{"t"}, []string{"episode"})
		got := ""
		if err == nil {
			var rows [][]float64
			rows, err = p.After([]string{"b"}, test.times, 3, 2)
			got = fmt.Sprint(rows)
		}
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, test.want) {
			t.Errorf("%q: %s, want %s", test.text, got, test.want)
		}
	}
}

// TestPlan_ThroughMidnights: times of the day without a day go on from row to row, over as many midnights as there are,
// behind data that may have passed some themselves. Rows before the forecast are ignored, unless it could begin on
// several days.
func TestPlan_ThroughMidnights(t *testing.T) {
	t.Parallel()
	clock := func(step int) string { return fmt.Sprintf("%02d:00", (22+step)%24) }
	for _, rows := range []int{4, 30, 75} {
		data := "time,y,u_force\n"
		for step := range rows {
			data += fmt.Sprintf("%s,%d,%d\n", clock(step), step%3, step)
		}
		times := episodeTimes(t, "data", data, Options{Time: "time", Observe: []string{"y"}})
		for _, before := range []int{0, 3} {
			plan := "time,force\n"
			for step := rows - before; step < rows+80; step++ {
				plan += fmt.Sprintf("%s,%d\n", clock(step), step)
			}
			path := filepath.Join(t.TempDir(), "plan.csv")
			if err := os.WriteFile(path, []byte(plan), 0o600); err != nil {
				t.Fatal(err)
			}
			p, err := ReadPlan(path, []string{"force"}, []string{"time"}, nil)
			if err != nil {
				t.Fatal(err)
			}
			coming, err := p.After(nil, times, rows, 80)
			if err != nil || coming[0][0] != float64(rows) || coming[79][0] != float64(rows+79) {
				t.Errorf("%d rows, plan from %d before their end on: %v, %v", rows, before, coming, err)
			}
			if _, err := p.After(nil, times, rows, 5); before > 0 && (err == nil || !strings.Contains(err.Error(), clock(rows)+" may be of several days")) {
				t.Errorf("%d rows, a plan from %d before their end on that is days longer than the forecast: %v", rows, before, err)
			}
			if _, err := p.After(nil, times, rows, 81); err == nil || !strings.Contains(err.Error(), "no row for "+clock(rows+80)) {
				t.Errorf("%d rows: a step behind the plan: %v", rows, err)
			}
		}
	}
}

// TestReadPlan_NotFromMATLAB: data are read from MATLAB files, controls are not.
func TestReadPlan_NotFromMATLAB(t *testing.T) {
	if p, err := ReadPlan("array/testdata/scipy_v7.mat", []string{"u_force"}, nil, nil); err == nil || !strings.Contains(err.Error(), ".csv") {
		t.Errorf("got %v, %v", p, err)
	}
}

// TestReadPlan_OneControl: a single control without a name may have either name of the convention, as in data; one of
// two has a number.
func TestReadPlan_OneControl(t *testing.T) {
	t.Parallel()
	d := readAs(t, Options{}, "t,y,u\n0,1,2\n1,2,3\n2,3,4\n")
	for _, test := range []struct {
		text  string
		names []string
		want  string // the rows, or an error
	}{
		{"t,u\n0,1\n1,2\n", d.Actions(), "[[1] [2]]"},
		{"t,u1\n0,1\n1,2\n", d.Actions(), "[[1] [2]]"},
		{"t,u,u1\n0,9,1\n1,9,2\n", d.Actions(), "[[1] [2]]"},
		{"t,u_force\n0,1\n", d.Actions(), "there is no column u1"},
		{"u,u2\n0,1\n", []string{"u1", "u2"}, "there is no column u1"},
		{"u\n0\n", []string{"force"}, "there is no column force; there are u"},
	} {
		path := filepath.Join(t.TempDir(), "plan.csv")
		if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := ReadPlan(path, test.names, []string{"t"}, nil)
		got := fmt.Sprint(err)
		if err == nil {
			got = fmt.Sprint(p.Rows)
		}
		if !strings.Contains(got, test.want) {
			t.Errorf("%q of %v: %s, want %s", test.text, test.names, got, test.want)
		}
	}
}

// TestControls_KeepDigits: controls around a large value are those around zero once they are scaled, from tables and
// arrays, and are written with their digits.
func TestControls_KeepDigits(t *testing.T) {
	t.Parallel()
	table := func(offset float64) string {
		var b strings.Builder
		b.WriteString("y,u_1,u_2\n")
		for s := range 40 {
			level := formatted(offset + math.Round(1e3*math.Sin(float64(s)))/1e3)
			if s == 7 {
				level = ""
			}
			fmt.Fprintf(&b, "%d,%s,%d\n", s%3, level, s%2)
		}
		return b.String()
	}
	for _, o := range []Options{{}, {ControlsAfter: true}, {Cut: 10}} {
		zero, d := readAs(t, o, table(0)), readAs(t, o, table(1e8))
		var csv, npz bytes.Buffer
		if err := d.WriteCSV(&csv); err != nil {
			t.Fatal(err)
		}
		if err := d.WriteNPZ(&npz); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "a.npz")
		if err := os.WriteFile(path, npz.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		of := make([]int, len(zero.Episodes))
		for i := range of {
			of[i] = i
		}
		want := zero.Measure(of).Apply(zero)
		for from, d := range map[string]*Dataset{"csv": d, "written csv": readAs(t, Options{}, csv.String()), "npz": mustRead(t, Options{}, path)} {
			n := d.Measure(of)
			got := n.Apply(d)
			each, err := d.MeasureEach(of)
			if own := each.RecordingControls[d.Recordings()[0]]; err == nil && (own.SD[0] < 0.5 || own.SD[0] > 1) {
				t.Errorf("%s, %+v: the scale of a recording is %+v", from, o, own)
			}
			if s, err := d.Summarise(); err != nil || s.Channels[1].Constant || math.Abs(s.Channels[1].Max-1e8-1) > 1e-3 {
				t.Errorf("%s, %+v: summary %+v, %v", from, o, s.Channels[1], err)
			}
			for i := range of {
				for j, v := range got.Episodes[i].Controls {
					if w := want.Episodes[i].Controls[j]; math.Abs(float64(v-w)) > 1e-5 {
						t.Fatalf("%s, %+v: episode %d, element %d: %v, around zero %v", from, o, i, j, v, w)
					}
				}
			}
		}
	}
	if d := readAs(t, Options{}, table(0)); d.Episodes[0].acts != nil {
		t.Error("controls around zero are kept twice")
	}
}

// TestControls_KeepDigitsResampled: means of controls around a large value have the digits of their rows, in arrays as
// in tables.
func TestControls_KeepDigitsResampled(t *testing.T) {
	t.Parallel()
	const rows = 40
	table := "t,y,u_1\n"
	var at, y, u []float64
	for s := range rows {
		at, y, u = append(at, float64(s)), append(y, float64(s%3)), append(u, 1e8+math.Sin(float64(s)))
		table += fmt.Sprintf("%d,%g,%v\n", s, y[s], u[s])
	}
	shape := []int{1, rows, 1}
	file := npz(t, named{"y", shape, y}, named{"u", shape, u}, named{"t", shape[:2], at})
	o := Options{Resample: "2"}
	arrays := mustRead(t, o, filepath.Join(write(t, map[string]string{"a.npz": file}), "a.npz"))
	want := readAs(t, o, table)
	for j := 1; j < rows/2; j++ {
		if got, mean := arrays.Episodes[0].Acted(j), (u[2*j]+u[2*j+1])/2; math.Abs(got-mean) > 1e-6 || got != want.Episodes[0].Acted(j) {
			t.Errorf("step %d: %v, want %v; in a table %v", j, got, mean, want.Episodes[0].Acted(j))
		}
	}
}
