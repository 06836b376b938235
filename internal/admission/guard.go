package admission

import (
	"crypto/sha256"
	"crypto/subtle"
	"mime"
	"net"
	"net/http"
	"strings"
)

// Guard decides which requests over HTTP are answered.
type Guard struct {
	open   bool // no token is set
	digest [sha256.Size]byte
	origin *http.CrossOriginProtection
	refuse func(w http.ResponseWriter, status int, message string)
}

// NewGuard returns a guard that asks for a token, or, if that is empty, answers this machine only. It answers what it
// refuses by refuse.
func NewGuard(token string, refuse func(w http.ResponseWriter, status int, message string)) Guard {
	return Guard{token == "", sha256.Sum256([]byte(token)), http.NewCrossOriginProtection(), refuse}
}

// Open reports whether no token is asked for.
func (g Guard) Open() bool { return g.open }

// SameSite refuses requests for other hosts, where no token is set, and requests that a page of another site makes a
// browser send.
func (g Guard) SameSite(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case g.open && !localHost(r.Host):
			// A foreign page could read this one through another name for this address (DNS rebinding).
			g.refuse(w, http.StatusMisdirectedRequest, "without a token this server answers to localhost and loopback "+
				"addresses only")
		case g.origin.Check(r) != nil:
			g.refuse(w, http.StatusForbidden, "the request comes from another origin")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// JSON refuses bodies of the kinds that any page may make a browser send to another site without asking: text and
// forms. A tool outside of a browser, which names no origin, may call its JSON a form, as curl does.
func (g Guard) JSON(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
		browser := r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != ""
		switch {
		case r.Header.Get("Content-Type") == "" && !browser, kind == "application/json",
			kind == "application/x-www-form-urlencoded" && !browser, r.ContentLength == 0 && !browser:
			next.ServeHTTP(w, r)
		case err != nil:
			g.refuse(w, http.StatusUnsupportedMediaType, "send JSON with Content-Type: application/json")
		default:
			g.refuse(w, http.StatusUnsupportedMediaType, "the body is "+kind+"; send JSON with Content-Type: application/json")
		}
	})
}

// Private answers a request only if it has the token, or if no token is set.
func (g Guard) Private(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !g.open && !g.allows(r) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="switchyard"`)
			g.refuse(w, http.StatusUnauthorized, "a token is needed, and this one is missing or wrong: "+
				"Authorization: Bearer TOKEN")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// allows compares digests, which have the same length, in constant time.
func (g Guard) allows(r *http.Request) bool {
	scheme, token, found := strings.Cut(r.Header.Get("Authorization"), " ")
	digest := sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(digest[:], g.digest[:]) == 1 && found && strings.EqualFold(scheme, "bearer")
}

// Loopback reports whether only this machine can reach a server on host.
func Loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// localHost reports whether a Host header names this machine.
func localHost(header string) bool {
	host, _, err := net.SplitHostPort(header)
	if err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(header, "["), "]")
	}
	return Loopback(host)
}
