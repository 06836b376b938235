package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"
)

// Validity of certificates. It begins a little in the past, for machines whose clocks are slow.
const (
	caYears     = 10
	serverYears = 2
	early       = time.Hour
)

// alwaysHosts are names that every certificate of a broker has: this machine, and the service in a compose file.
func alwaysHosts() []string { return []string{"localhost", "127.0.0.1", "nats"} }

// AlwaysHost reports whether every certificate of a broker has this name.
func AlwaysHost(name string) bool { return slices.Contains(alwaysHosts(), name) }

// canonical is the form of a host's name in certificates. The error is ErrHost.
func canonical(host string) (string, error) {
	if ip := net.ParseIP(host); ip != nil {
		return ip.String(), nil
	}
	bad := len(host) > 253
	for label := range strings.SplitSeq(host, ".") {
		bad = bad || label == "" || len(label) > 63 || strings.Trim(label, letters+"-") != "" ||
			strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-")
	}
	if bad {
		return "", fmt.Errorf("%w: %q", ErrHost, host)
	}
	return strings.ToLower(host), nil
}

// letters are those, and the digits, that a label of a host's name may have beside hyphens.
const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// newPrivateKey draws an ECDSA key on P-256, in PKCS #8 and PEM.
func newPrivateKey() ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode a key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// parsePrivateKey reads what newPrivateKey makes. The error, ErrDamaged, holds nothing of the file.
func parsePrivateKey(file string, data []byte) (*ecdsa.PrivateKey, error) {
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, fmt.Errorf("%w: %s is no PEM file", ErrDamaged, file)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	key, ok := parsed.(*ecdsa.PrivateKey)
	if err != nil || !ok {
		return nil, fmt.Errorf("%w: %s is no ECDSA key in PKCS #8", ErrDamaged, file)
	}
	return key, nil
}

// parseCertificate reads the first certificate of a file in PEM. The error is ErrDamaged.
func parseCertificate(file string, data []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, fmt.Errorf("%w: %s is no PEM file", ErrDamaged, file)
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrDamaged, file, err)
	}
	return certificate, nil
}

// issue signs a certificate for a public key with the key of its issuer.
func issue(template, issuer *x509.Certificate, public *ecdsa.PublicKey, key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, public, key)
	if err != nil {
		return nil, fmt.Errorf("sign a certificate: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}

// newCA makes the certificate of an authority that may sign certificates of servers, but not of further authorities.
// crypto/x509 draws its serial number.
func newCA(key *ecdsa.PrivateKey, now time.Time) ([]byte, error) {
	template := &x509.Certificate{
		Subject:   pkix.Name{Organization: []string{"Switchyard"}, CommonName: "Switchyard certificate authority"},
		NotBefore: now.Add(-early), NotAfter: now.AddDate(caYears, 0, 0),
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign, BasicConstraintsValid: true, IsCA: true, MaxPathLenZero: true,
	}
	return issue(template, template, &key.PublicKey, key)
}

// newServer makes the certificate of a broker with the given names. now is when it begins, but for early.
func newServer(hosts []string, public *ecdsa.PublicKey, ca *x509.Certificate, key *ecdsa.PrivateKey,
	now time.Time,
) ([]byte, error) {
	return issueFor("Switchyard broker", []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, hosts, public, ca, key, now)
}

// RouteName is the name that servers of a cluster expect in each other's certificate. It stands for the cluster: hosts
// come and go.
const RouteName = "routes.switchyard"

// newRoute makes the certificate of routes, with which servers both connect and accept. The hosts are for servers of
// others, which expect the name that they connect to.
func newRoute(hosts []string, public *ecdsa.PublicKey, ca *x509.Certificate, key *ecdsa.PrivateKey,
	now time.Time,
) ([]byte, error) {
	usage := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	return issueFor("Switchyard route", usage, append([]string{RouteName}, hosts...), public, ca, key, now)
}

// PinOf is the SHA-256 of a certificate's public key, by which servers of a cluster know each other: a certificate for
// an older key is not accepted, whoever has signed it.
func PinOf(c *x509.Certificate) string {
	sum := sha256.Sum256(c.RawSubjectPublicKeyInfo)
	return hex.EncodeToString(sum[:])
}

// issueFor signs a certificate of a server with the given names. It does not outlive the authority's.
func issueFor(name string, usage []x509.ExtKeyUsage, hosts []string, public *ecdsa.PublicKey, ca *x509.Certificate,
	key *ecdsa.PrivateKey, now time.Time,
) ([]byte, error) {
	template := &x509.Certificate{
		Subject:   pkix.Name{Organization: []string{"Switchyard"}, CommonName: name},
		NotBefore: now.Add(-early), NotAfter: earliest(now.AddDate(serverYears, 0, 0), ca.NotAfter),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: usage, BasicConstraintsValid: true,
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return issue(template, ca, public, key)
}

// earliest is the earlier of two times.
func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// hostsOf are the names of a certificate.
func hostsOf(c *x509.Certificate) []string {
	hosts := slices.Clone(c.DNSNames)
	for _, ip := range c.IPAddresses {
		hosts = append(hosts, ip.String())
	}
	return hosts
}

// checkServer returns an error unless a certificate belongs to a key and an authority. It does not check the time.
// The error is ErrDamaged.
func checkServer(file, keyFile string, server, ca *x509.Certificate, key *ecdsa.PrivateKey) error {
	if !key.PublicKey.Equal(server.PublicKey) {
		return fmt.Errorf("%w: %s is not for the key in %s", ErrDamaged, file, keyFile)
	}
	if err := server.CheckSignatureFrom(ca); err != nil {
		return errors.Join(fmt.Errorf("%w: %s is not signed by %s", ErrDamaged, file, CA), err)
	}
	return nil
}

// tlsConf is the part of a NATS configuration that names the folder of the certificate.
func tlsConf(dir string) []byte {
	return fmt.Appendf(nil, `# TLS of the broker. Made by "switchyard init"; the files are those beside it.
tls {
  cert_file: %q
  key_file: %q
  timeout: 5
}
`, dir+"/"+Server, dir+"/"+ServerKey)
}

// clusterConf is the part of a NATS configuration that lets a server take routes from those that have the key with the
// given pin.
func clusterConf(dir, pin string) []byte {
	return fmt.Appendf(nil, `# Routes between the servers of a cluster. Made by "switchyard init"; the files are those beside it. Who has route.key
# is trusted as the broker itself.
cluster {
  name: %q
  listen: "0.0.0.0:6222"
  no_advertise: true
  tls {
    cert_file: %q
    key_file: %q
    ca_file: %q
    verify: true
    pinned_certs: [%q]
    timeout: 5
  }
}
`, ClusterName, dir+"/"+Route, dir+"/"+RouteKey, dir+"/"+CA, pin)
}

// ClusterName is what all servers of a cluster call it.
const ClusterName = "switchyard"
