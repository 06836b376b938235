package chaos

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/switchyard-ml/switchyard/lab/fault"
)

const (
	// The growth of a process is not measured in the first minute and the first quarter of its life.
	warmUp  = 60 * time.Second
	quarter = 0.25
)

// Growth says by how much a quantity grows per hour in the processes of one role: the slope of parallel lines
// through the samples of all warm processes (least squares). With x the age in hours, y the quantity, and means
// over the samples of a process,
//
//	PerHour = Σ (x − x̄)(y − ȳ) / Σ (x − x̄)²
//
// Each process has a level of its own, so that only what grows within a life counts.
type Growth struct {
	Role      string  `json:"role"`
	What      string  `json:"what"` // memory (bytes), goroutines or open files
	PerHour   float64 `json:"per_hour"`
	Mean      float64 `json:"mean"` // of the samples
	Samples   int     `json:"samples"`
	Processes int     `json:"processes"`
}

// sample has values from /proc for one process at one moment; -1 is unknown.
type sample struct {
	role             string
	name             string
	generation       int
	age              float64 // seconds
	rss              float64 // bytes
	goroutines, open float64
}

// id identifies the incarnation of a process.
func (p *sample) id() string { return p.name + "-" + strconv.Itoa(p.generation) }

// samples are kept in memory and in a CSV file, a line for each, so that the course of a long run can be drawn.
type samples struct {
	file *os.File
	list []sample
}

// newSamples makes the file, with its header.
func newSamples(path string) (*samples, error) {
	f, err := os.Create(path)
	if err == nil {
		_, err = f.WriteString("seconds,process,generation,age_seconds,rss_bytes,goroutines,open_files\n")
	}
	if err != nil {
		return nil, fmt.Errorf("make the file of samples: %w", err)
	}
	return &samples{file: f}, nil
}

// close closes the file.
func (s *samples) close() error {
	if err := s.file.Close(); err != nil {
		return fmt.Errorf("close the samples: %w", err)
	}
	return nil
}

// sample adds samples of all running processes. It does nothing on systems without /proc.
func (k *conductor) sample(now time.Time) error {
	for _, x := range k.children() {
		if !x.running() {
			continue
		}
		rss, err := resident(x.process.pid())
		if err != nil {
			continue // the process has just ended, or there is no /proc
		}
		p := sample{
			role: x.role, name: x.name, generation: x.generation, age: now.Sub(x.process.began).Seconds(),
			rss: rss, goroutines: -1, open: openFiles(x.process.pid()),
		}
		if _, n, err := fault.ReadCounts(k.counts(x)); err == nil && n > 0 {
			p.goroutines = float64(n)
		}
		if err := k.samples.add(now.Sub(k.began), p); err != nil {
			return err
		}
	}
	return nil
}

// add keeps a sample that was taken at a time since the beginning.
func (s *samples) add(at time.Duration, p sample) error {
	s.list = append(s.list, p)
	if _, err := fmt.Fprintf(s.file, "%.0f,%s,%d,%.0f,%.0f,%.0f,%.0f\n", at.Seconds(), p.name, p.generation, p.age, p.rss,
		p.goroutines, p.open); err != nil {
		return fmt.Errorf("write a sample: %w", err)
	}
	return nil
}

// resident is the resident memory of a process in bytes.
func resident(pid int) (float64, error) {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return 0, err
	}
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		var kib float64
		if _, err := fmt.Sscanf(lines.Text(), "VmRSS: %f kB", &kib); err == nil {
			return 1024 * kib, nil
		}
	}
	return 0, fmt.Errorf("process %d has no memory", pid)
}

// openFiles is the number of file descriptors of a process; -1 if it is not known.
func openFiles(pid int) float64 {
	entries, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "fd"))
	if err != nil {
		return -1
	}
	return float64(len(entries))
}

// growth fits memory, goroutines and open files of each role.
func (s *samples) growth() []Growth {
	var list []Growth
	for _, role := range []string{"broker", "coordinator", "worker"} {
		for _, what := range []struct {
			name  string
			value func(sample) float64
		}{
			{"memory", func(p sample) float64 { return p.rss }},
			{"goroutines", func(p sample) float64 { return p.goroutines }},
			{"open files", func(p sample) float64 { return p.open }},
		} {
			if g, ok := fit(s.list, role, what.value); ok {
				g.Role, g.What = role, what.name
				list = append(list, g)
			}
		}
	}
	return list
}

// fit fits parallel lines to the samples of the processes of a role, and reports whether there are enough of
// them: two of one process at different ages. Samples of the first minute, and of the first quarter of a life, do
// not count.
func fit(list []sample, role string, value func(sample) float64) (Growth, bool) {
	type point struct{ x, y float64 }
	// How old each incarnation became: a quarter of that does not count.
	life := make(map[string]float64)
	for _, p := range list {
		life[p.id()] = max(life[p.id()], p.age)
	}
	processes := make(map[string][]point)
	var order []string
	for _, p := range list {
		id := p.id()
		if v := value(p); p.role == role && p.age > max(warmUp.Seconds(), quarter*life[id]) && v >= 0 {
			if processes[id] == nil {
				order = append(order, id)
			}
			processes[id] = append(processes[id], point{p.age / 3600, v})
		}
	}
	var g Growth
	var sxy, sxx, sum float64
	for _, id := range order {
		points := processes[id]
		if len(points) < 2 {
			continue
		}
		// Sums about the means of the process: its own level does not matter.
		var mx, my float64
		for _, p := range points {
			mx, my = mx+p.x/float64(len(points)), my+p.y/float64(len(points))
		}
		for _, p := range points {
			sxy, sxx, sum = sxy+(p.x-mx)*(p.y-my), sxx+(p.x-mx)*(p.x-mx), sum+p.y
		}
		g.Samples += len(points)
		g.Processes++
	}
	if sxx == 0 {
		return g, false
	}
	g.PerHour, g.Mean = sxy/sxx, sum/float64(g.Samples)
	return g, true
}
