package bench

import (
	"strings"
	"testing"
	"testing/fstest"
)

func TestMemory(t *testing.T) {
	if f := memory(littleMemory-1, true, "available"); f.State != Doubtful || f.Do == "" {
		t.Errorf("little: %+v", f)
	}
	if f := memory(littleMemory, true, "available"); f.State != OK || f.Do != "" || f.Found != "512.0 MiB available" {
		t.Errorf("enough: %+v", f)
	}
	if f := memory(0, false, "available"); f.State != OK || !strings.HasPrefix(f.Found, "not known on ") {
		t.Errorf("unknown: %+v", f)
	}
	if bytes, known := machineMemory(files("proc/meminfo", "MemTotal: 10 kB\nMemAvailable:   2048 kB\n")); !known ||
		bytes != 2<<20 {
		t.Errorf("got %d, %t", bytes, known)
	}
	if _, known := machineMemory(files()); known {
		t.Error("known without the file")
	}
}

// TestGroupMemory: the limit of a container counts, of either version of control groups, and of groups above.
func TestGroupMemory(t *testing.T) {
	const two, one = "sys/fs/cgroup/", "sys/fs/cgroup/memory/"
	for _, c := range []struct {
		name  string
		files []string
		want  int64 // -1: no limit
	}{
		{"no groups", nil, -1},
		{"version 2, in a container", []string{
			"proc/self/cgroup", "0::/\n", two + "memory.max", "1000\n",
			two + "memory.current", "700\n", two + "memory.stat", "anon 500\ninactive_file 150\n",
		}, 450},
		{"version 2, no limit", []string{"proc/self/cgroup", "0::/\n", two + "memory.max", "max\n", two + "memory.current", "7"}, -1},
		{"version 2, a group above", []string{
			"proc/self/cgroup", "0::/a/b\n", two + "a/b/memory.max", "max\n", two + "a/b/memory.current", "5\n",
			two + "a/memory.max", "100\n", two + "a/memory.current", "40\n",
		}, 60},
		{"version 2, the smaller one", []string{
			"proc/self/cgroup", "0::/a/b\n", two + "a/b/memory.max", "50\n", two + "a/b/memory.current", "5\n",
			two + "a/memory.max", "100\n", two + "a/memory.current", "80\n",
		}, 20},
		{"version 1, by the path of the host", []string{
			"proc/self/cgroup", "5:cpu,cpuacct:/docker/x\n4:memory:/docker/x\n0::/\n", one + "memory.limit_in_bytes", "900\n",
			one + "memory.usage_in_bytes", "1000\n", one + "memory.stat", "inactive_file 7\ntotal_inactive_file 300\n",
		}, 200},
		{"version 1, no limit", []string{
			"proc/self/cgroup", "4:memory:/\n", one + "memory.limit_in_bytes", "9223372036854771712\n",
			one + "memory.usage_in_bytes", "10\n",
		}, -1},
		{"above its limit", []string{"proc/self/cgroup", "0::/\n", two + "memory.max", "10\n", two + "memory.current", "12\n"}, 0},
	} {
		left, limited := groupMemory(files(c.files...))
		if limited != (c.want >= 0) || limited && left != c.want {
			t.Errorf("%s: %d, %t, want %d", c.name, left, limited, c.want)
		}
	}
}

// files is a file system with these files: name, content, name, …
func files(list ...string) fstest.MapFS {
	m := fstest.MapFS{}
	for i := 0; i < len(list); i += 2 {
		m[list[i]] = &fstest.MapFile{Data: []byte(list[i+1])}
	}
	return m
}
