package shm_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/switchyard-ml/switchyard/wire/shm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// folder is a short one, as a socket has to lie there.
func folder(t *testing.T) shm.Directory {
	t.Helper()
	dir, err := os.MkdirTemp("", "sy")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return shm.Directory(dir)
}

func hosts(t *testing.T) map[string]shm.Host {
	all := map[string]shm.Host{"twin": shm.NewTwin(nil)}
	if supported(t) {
		all["directory"] = folder(t)
	}
	return all
}

func supported(t *testing.T) bool {
	t.Helper()
	l, err := folder(t).Open(1, 1)
	if errors.Is(err, shm.ErrUnsupported) {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	closed(t, l)
	return true
}

func closed(t *testing.T, c interface{ Close() error }) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func open(t *testing.T, h shm.Host, size int, secrets ...uint64) shm.Server {
	t.Helper()
	l, err := h.Open(size, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closed(t, l) })
	l.Expect(secrets)
	return l
}

func join(t *testing.T, h shm.Host, place string, secret uint64, size int) shm.Link {
	t.Helper()
	l, err := h.Join(t.Context(), place, secret, size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closed(t, l) })
	return l
}

// Each side reads what the other writes, anywhere in its memory, and clients do not read each other.
func TestHost_EachReadsWhatTheOtherWrites(t *testing.T) {
	const size = 1 << 20
	for name, h := range hosts(t) {
		t.Run(name, func(t *testing.T) {
			server := open(t, h, size, 7, 8)
			links := map[uint64]shm.Link{}
			for _, secret := range []uint64{7, 8} {
				if server.Client(secret) != nil {
					t.Errorf("%d is a client before it came", secret)
				}
				links[secret] = join(t, h, server.Place(), secret, size)
			}
			for _, at := range []int64{0, 1, 4095, 70_001, size - 3} {
				for secret, link := range links {
					write(t, link, []byte{1, byte(secret), byte(at)}, at)
				}
				write(t, server, []byte{2, 3, byte(at)}, at)
				for secret, link := range links {
					read(t, server.Client(secret), []byte{1, byte(secret), byte(at)}, at)
					read(t, link, []byte{2, 3, byte(at)}, at)
				}
			}
		})
	}
}

func write(t *testing.T, to interface {
	WriteAt([]byte, int64) (int, error)
}, data []byte, at int64,
) {
	t.Helper()
	if n, err := to.WriteAt(data, at); n != len(data) || err != nil {
		t.Errorf("write %d at %d: %d, %v", len(data), at, n, err)
	}
}

func read(t *testing.T, from interface {
	ReadAt([]byte, int64) (int, error)
}, want []byte, at int64,
) {
	t.Helper()
	got := make([]byte, len(want))
	if _, err := from.ReadAt(got, at); err != nil || !bytes.Equal(got, want) {
		t.Errorf("at %d: got %v, %v, want %v", at, got, err, want)
	}
}

// What does not fit is an error, for who writes and for who reads.
func TestHost_Bounds(t *testing.T) {
	for name, h := range hosts(t) {
		t.Run(name, func(t *testing.T) {
			server := open(t, h, 100, 7)
			link := join(t, h, server.Place(), 7, 50)
			for _, at := range []int64{-1, 91, 1 << 40, 1<<62 + 1, -1 << 62} {
				if n, err := server.WriteAt(make([]byte, 10), at); n != 0 || !errors.Is(err, shm.ErrRoom) {
					t.Errorf("write at %d of 100: %d, %v", at, n, err)
				}
				if _, err := link.ReadAt(make([]byte, 10), at); err == nil {
					t.Errorf("read at %d of 100: no error", at)
				}
			}
			for _, at := range []int64{-1, 41, 1 << 40} {
				if n, err := link.WriteAt(make([]byte, 10), at); n != 0 || !errors.Is(err, shm.ErrRoom) {
					t.Errorf("write at %d of 50: %d, %v", at, n, err)
				}
				if _, err := server.Client(7).ReadAt(make([]byte, 10), at); err == nil {
					t.Errorf("read at %d of 50: no error", at)
				}
			}
		})
	}
}

// Who does not know a secret that is expected is no client; nor is who is not expected any more.
func TestHost_Denied(t *testing.T) {
	for name, h := range hosts(t) {
		t.Run(name, func(t *testing.T) {
			server, other := open(t, h, 100, 7), open(t, h, 100, 9)
			tries := map[string]struct {
				place  string
				secret uint64
				want   error
			}{
				"another secret":        {server.Place(), 8, nil},
				"secret of another run": {server.Place(), 9, nil},
				"no such place":         {"0123456789abcdef", 7, shm.ErrAbsent},
			}
			if name == "directory" {
				for what, place := range map[string]string{
					"path": "../" + server.Place(), "absolute": "/etc/passwd", "empty": "", "long": server.Place() + "0", "upper case": "0123456789ABCDEF",
				} {
					tries[what] = struct {
						place  string
						secret uint64
						want   error
					}{place, 7, shm.ErrPlace}
				}
			}
			for what, try := range tries {
				link, err := h.Join(t.Context(), try.place, try.secret, 10)
				if err == nil || link != nil || try.want != nil && !errors.Is(err, try.want) {
					t.Errorf("%s: %v, %v", what, link, err)
				}
			}
			for _, secret := range []uint64{7, 8, 9} {
				if server.Client(secret) != nil {
					t.Errorf("%d is a client", secret)
				}
			}
			join(t, h, server.Place(), 7, 10)
			join(t, h, other.Place(), 9, 10)
			if server.Client(7) == nil {
				t.Error("7 has come and is no client")
			}
			server.Expect([]uint64{8})
			if server.Client(7) != nil {
				t.Error("7 is a client after it was expected")
			}
			if _, err := h.Join(t.Context(), server.Place(), 7, 10); err == nil {
				t.Error("7 came in after it was expected")
			}
		})
	}
}

// Who comes again has the memory that he brings last.
func TestHost_Again(t *testing.T) {
	for name, h := range hosts(t) {
		t.Run(name, func(t *testing.T) {
			server := open(t, h, 100, 7)
			join(t, h, server.Place(), 7, 10)
			before := server.Client(7)
			link := join(t, h, server.Place(), 7, 10)
			write(t, link, []byte{5}, 3)
			read(t, server.Client(7), []byte{5}, 3)
			if server.Client(7) == before {
				t.Error("the memory is that of before")
			}
		})
	}
}

// A client who waits gives up when he is told to, and a place that closes does not wait for those who say nothing for ever.
func TestDirectory_GivesUp(t *testing.T) {
	if !supported(t) {
		t.Skip("there is no memory to share")
	}
	dir := folder(t)
	server := open(t, dir, 100, 7)
	ctx, end := context.WithCancel(t.Context())
	end()
	if _, err := dir.Join(ctx, server.Place(), 7, 10); !errors.Is(err, context.Canceled) {
		t.Errorf("joined after the end: %v", err)
	}
}
