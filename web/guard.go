package web

import (
	"fmt"
	"net/http"
	"os"
	"strings"
)

// minToken is the smallest length of a token.
const minToken = 16

// ReadToken reads a token from a file: one line of at least 16 characters without spaces. It returns ErrToken for a
// file without a token that is good enough. White space around it does not count.
func ReadToken(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read the token of the page: %w", err)
	}
	token := strings.TrimSpace(string(data))
	switch {
	case token == "":
		return "", fmt.Errorf("%w: %s is empty; it should hold one line, e.g. 32 random hexadecimal digits", ErrToken, path)
	case len(token) < minToken || strings.ContainsAny(token, " \t\r\n"):
		return "", fmt.Errorf("%w: %s should hold one line of at least %d characters without spaces", ErrToken, path,
			minToken)
	}
	return token, nil
}

// policy allows the page only its own files and connections.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// harden sets headers of all answers and refuses requests for other hosts and from other origins. Answers are kept
// by no cache unless they say otherwise.
func (s *Server) harden(next http.Handler) http.Handler {
	next = s.guard.SameSite(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}
