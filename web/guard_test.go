package web

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestToken_Matrix(t *testing.T) {
	b := newBench(t, testToken)
	b.run("a", 1)
	free := map[string]bool{"/": true, "/main.js": true, "/healthz": true, "/readyz": true}
	paths := []string{"/", "/main.js", "/healthz", "/readyz", "/metrics", "/api/runs", "/api/runs/a", "/api/runs/missing", "/api/runs/a/metrics", "/api/runs/a/figures/x.png", "/api/events?run=missing"}
	wrong := []string{
		"", "Bearer", "Bearer ", "Bearer x", "Bearer " + testToken + "x", "Bearer " + testToken[1:], "Bearer  " + testToken, "Basic " + testToken, testToken, "Bearer " + strings.ToUpper(testToken),
	}
	for _, path := range paths {
		for _, value := range wrong {
			status, header, _ := b.ask("GET", path, "Authorization", value)
			if refused := status == http.StatusUnauthorized; refused == free[path] || refused && header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s with %q: %d", path, value, status)
			}
		}
		for _, scheme := range []string{"Bearer ", "bearer "} {
			if status, _, _ := b.ask("GET", path, "Authorization", scheme+testToken); status == http.StatusUnauthorized {
				t.Errorf("%s with the token: %d", path, status)
			}
		}
		query := "?token=" + testToken
		if status, _, _ := b.ask("GET", path+query); (status == http.StatusUnauthorized) == free[path] {
			t.Errorf("%s takes a token from its address", path)
		}
	}
	if strings.Contains(b.log.String(), testToken) {
		t.Errorf("the log holds the token:\n%s", b.log)
	}
}

func TestHost_WithoutTokenThisMachineOnly(t *testing.T) {
	b := newBench(t, "")
	for host, want := range map[string]int{
		"localhost": 200, "localhost:8080": 200, "LOCALHOST": 200, "127.0.0.1:1": 200, "127.1.2.3": 200, "[::1]:8080": 200, "[::1]": 200,
		"evil.example": 421, "evil.example:8080": 421, "127.0.0.1.evil.example": 421, "localhost.evil.example": 421, "10.0.0.1": 421, "0.0.0.0:8080": 421,
	} {
		for _, path := range []string{"/", "/api/runs", "/metrics", "/healthz"} {
			if status, _, body := b.ask("GET", path, "Host", host); status != want {
				t.Errorf("%s of %s: %d %.60s, want %d", path, host, status, body, want)
			}
		}
	}
	guarded := newBench(t, testToken)
	if status, _, _ := guarded.ask("GET", "/api/runs", "Host", "train.example", "Authorization", "Bearer "+testToken); status != http.StatusOK {
		t.Errorf("with a token any name will do, got %d", status)
	}
}

func TestListen_BeyondLoopbackNeedsAToken(t *testing.T) {
	for address, free := range map[string]bool{
		"127.0.0.1:0": true, "localhost:0": true, "[::1]:0": true, ":0": false, "0.0.0.0:0": false, "[::]:0": false, "192.0.2.1:0": false, "train.example:0": false,
	} {
		s, err := Listen(address, Config{Source: Folder(t.TempDir())})
		if refused := errors.Is(err, ErrToken); refused == free {
			t.Errorf("%s: %v", address, err)
		}
		if errors.Is(err, ErrToken) && !strings.Contains(err.Error(), "--web-token-file") {
			t.Errorf("%s: %v does not say what to do", address, err)
		}
		if s != nil {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if _, err := Listen("8080", Config{}); err == nil || !strings.Contains(err.Error(), "127.0.0.1:8080") {
		t.Errorf("got %v", err)
	}
	s, err := Listen("0.0.0.0:0", Config{Source: Folder(t.TempDir()), Token: testToken})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestURL_IsOneThatABrowserOpens: nobody can go to 0.0.0.0.
func TestURL_IsOneThatABrowserOpens(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", "[::]:0", ":0", "127.0.0.1:0"} {
		s, err := Listen(address, Config{Token: "0123456789abcdef"})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		_, port, err := net.SplitHostPort(s.Address())
		if err != nil {
			t.Fatal(err)
		}
		if got, want := s.URL(), "http://127.0.0.1:"+port+"/"; got != want {
			t.Errorf("listening on %s: URL %s, want %s", address, got, want)
		}
	}
}

func TestReadToken(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{
		testToken: testToken, testToken + "\n": testToken, " " + testToken + "\r\n": testToken,
		"": "", "\n": "", "short": "", "two words of some length": "", testToken + "\n" + testToken: "",
	} {
		path := filepath.Join(dir, "token")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := ReadToken(path)
		if got != want || (want == "") != errors.Is(err, ErrToken) {
			t.Errorf("%q: got %q, %v", text, got, err)
		}
		if held := strings.TrimSpace(text); err != nil && held != "" && strings.Contains(err.Error(), held) {
			t.Errorf("%q: %v tells what the file holds", text, err)
		}
	}
	if _, err := ReadToken(filepath.Join(dir, "missing")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestHeaders(t *testing.T) {
	b := newBench(t, "")
	for _, path := range []string{"/", "/style.css", "/api/runs", "/missing", "/metrics"} {
		_, header, _ := b.ask("GET", path)
		if header.Get("Content-Security-Policy") != policy || header.Get("X-Content-Type-Options") != "nosniff" || header.Get("Referrer-Policy") != "no-referrer" || header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %v", path, header)
		}
	}
	for _, part := range []string{"'unsafe-inline'", "'unsafe-eval'", "http:", "https:", "data:", "*"} {
		if strings.Contains(policy, part) {
			t.Errorf("the policy allows %s", part)
		}
	}
}

// TestServe_EndsWithItsContext: also while a client listens to events and another sends
// nothing at all.
func TestServe_EndsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	s, err := Listen("127.0.0.1:0", Config{Source: Folder(dir), Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get(s.URL() + "api/events")
	if err != nil {
		t.Fatal(err)
	}
	silent, err := net.Dial("tcp", s.Address())
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK {
		t.Errorf("got %s", response.Status)
	}
	cancel()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(2 * time.Minute):
		t.Error("the server does not end")
	}
	if err := errors.Join(response.Body.Close(), silent.Close()); err != nil {
		t.Error(err)
	}
	if err := s.listener.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the address is still in use: %v", err)
	}
}
