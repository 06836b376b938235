package web

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
)

// minToken is the smallest length of a token.
const minToken = 16

// ReadToken reads a token from a file: one line of at least 16 characters without spaces.
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

// Loopback reports whether only this machine can reach a server on host.
func Loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// guard decides which requests are answered.
type guard struct {
	open   bool // no token is set
	digest [sha256.Size]byte
	origin *http.CrossOriginProtection
}

func newGuard(token string) guard {
	return guard{open: token == "", digest: sha256.Sum256([]byte(token)), origin: http.NewCrossOriginProtection()}
}

// policy allows the page only its own files and connections.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// harden sets headers of all answers and refuses requests for other hosts and from other origins.
func (g guard) harden(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if g.open && !localHost(r.Host) {
			// A foreign page could read this one through another name for this address (DNS rebinding).
			writeError(w, http.StatusMisdirectedRequest, "without a token this server answers to localhost and loopback "+
				"addresses only")
			return
		}
		if err := g.origin.Check(r); err != nil {
			writeError(w, http.StatusForbidden, "the request comes from another origin")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// localHost reports whether a Host header names this machine.
func localHost(header string) bool {
	host, _, err := net.SplitHostPort(header)
	if err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(header, "["), "]")
	}
	return Loopback(host)
}

// private answers a request only if it has the token, or if no token is set.
func (g guard) private(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !g.open && !g.allows(r) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="switchyard"`)
			writeError(w, http.StatusUnauthorized, "a token is needed: Authorization: Bearer TOKEN")
			return
		}
		next(w, r)
	})
}

// allows compares digests, which have the same length, in constant time.
func (g guard) allows(r *http.Request) bool {
	scheme, token, found := strings.Cut(r.Header.Get("Authorization"), " ")
	digest := sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(digest[:], g.digest[:]) == 1 && found && strings.EqualFold(scheme, "bearer")
}
