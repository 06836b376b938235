package admission

import (
	"crypto/sha256"
	"crypto/subtle"
	"mime"
	"net"
	"net/http"
	"strings"
)

// Guard decides which requests over HTTP are answered. Each of its methods that take a handler returns one that
// asks it only if the request is let in. A Guard does not change and is safe for concurrent use.
type Guard struct {
	open bool // no token is set
	// SHA-256 of the token. The token itself is not kept.
	digest [sha256.Size]byte
	origin *http.CrossOriginProtection
	refuse func(w http.ResponseWriter, status int, message string)
}

// NewGuard returns a guard that asks for a token, or, if that is empty, answers this machine only. It answers what
// it refuses by refuse, with a status of HTTP and a sentence for people, which does not repeat what the client has
// sent as its token.
func NewGuard(token string, refuse func(w http.ResponseWriter, status int, message string)) Guard {
	return Guard{token == "", sha256.Sum256([]byte(token)), http.NewCrossOriginProtection(), refuse}
}

// Open reports whether no token is asked for.
func (g Guard) Open() bool { return g.open }

// SameSite refuses requests for other hosts, where no token is set, with status 421, and requests that a page of
// another site makes a browser send with 403.
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

// JSON refuses, with status 415, bodies of the kinds that any page may make a browser send to another site without
// asking: text and forms. A tool outside of a browser, which names no origin, may call its JSON a form, as curl
// does, or name no kind at all.
func (g Guard) JSON(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
		// A browser names where a request comes from; a tool does not.
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

// Private answers a request only if it has the token, as Authorization: Bearer TOKEN, or if no token is set; others
// get status 401.
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

// allows compares digests, which have the same length, in constant time, so that the time of an answer tells
// nothing of the token.
func (g Guard) allows(r *http.Request) bool {
	scheme, token, found := strings.Cut(r.Header.Get("Authorization"), " ")
	digest := sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(digest[:], g.digest[:]) == 1 && found && strings.EqualFold(scheme, "bearer")
}

// Loopback reports whether only this machine can reach a server on host: localhost, or an address of the loopback
// network. Other names are not looked up.
func Loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// localHost reports whether a Host header, with or without a port, names this machine.
func localHost(header string) bool {
	host, _, err := net.SplitHostPort(header)
	if err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(header, "["), "]")
	}
	return Loopback(host)
}
