package wire

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"

	"contend/setting"
)

// TLS says which authorities to trust, who we are, and which handshakes are
// allowed. The zero value trusts the system's authorities and checks the
// certificate against the URL's host. Sessions are not resumed: a new
// connection means a full handshake.
type TLS struct {
	// CA holds the trusted authorities in PEM form; empty means the system's.
	CA []byte
	// Insecure accepts any certificate of any host.
	Insecure bool
	// ServerName is the expected name instead of the URL's host.
	ServerName string
	// NoSNI does not tell the server which name is expected. HTTP/1.1 and
	// WebSocket only: the libraries of the others would tell it all the same.
	NoSNI bool
	// Certificate, with the chain that the server needs, and Key are ours, in
	// PEM form. Empty means that we do not identify ourselves.
	Certificate, Key []byte
	// MinVersion and MaxVersion are versions of crypto/tls; zero means its
	// default.
	MinVersion, MaxVersion uint16
	// CipherSuites are those of crypto/tls that may be chosen up to TLS 1.2;
	// those of TLS 1.3 are not for a client to choose. Empty means the default.
	CipherSuites []uint16
}

// Refuse returns a mistake for each field that is set, by the setting that it is
// asked for with.
func (t TLS) Refuse(format string, args ...any) error {
	var errs []error
	for _, field := range []struct {
		set     bool
		setting setting.Setting
	}{
		{len(t.CA) > 0, authorities},
		{t.Insecure, insecure},
		{t.ServerName != "", setting.Setting{Name: "TLS.ServerName"}},
		{t.NoSNI, noSNI},
		{len(t.Certificate) > 0, certificate},
		{len(t.Key) > 0, key},
		{t.MinVersion != 0, minVersion},
		{t.MaxVersion != 0, maxVersion},
		{len(t.CipherSuites) > 0, cipherSuites},
	} {
		if field.set {
			errs = append(errs, field.setting.Wrong(format, args...))
		}
	}
	return errors.Join(errs...)
}

// What fields are asked for with; those that only programs can set are called as
// they are.
var (
	common       Common
	authorities  = setting.At(&common, &common.CAFile)
	insecure     = setting.At(&common, &common.Insecure)
	certificate  = setting.At(&common, &common.CertFile)
	key          = setting.At(&common, &common.KeyFile)
	noSNI        = setting.Setting{Name: "TLS.NoSNI"}
	minVersion   = setting.Setting{Name: "TLS.MinVersion"}
	maxVersion   = setting.Setting{Name: "TLS.MaxVersion"}
	cipherSuites = setting.Setting{Name: "TLS.CipherSuites"}
)

// CheckSNI refuses NoSNI, for the libraries that would tell the server the name all
// the same.
func (t TLS) CheckSNI() error {
	if t.NoSNI {
		return noSNI.Wrong("is not possible: the library names the host")
	}
	return nil
}

// Config builds the configuration for a URL's host, with which a server may be
// asked to speak one of the protocols (ALPN). The error joins a *setting.Mistake for
// everything that is wrong with t.
func (t TLS) Config(host string, protocols ...string) (*tls.Config, error) {
	if t.ServerName != "" {
		host = t.ServerName
	}
	c := &tls.Config{
		ServerName:         host,
		InsecureSkipVerify: t.Insecure,
		NextProtos:         protocols,
		MinVersion:         t.MinVersion,
		MaxVersion:         t.MaxVersion,
		CipherSuites:       t.CipherSuites,
	}
	errs := []error{t.checkVersions(), t.checkSuites(), t.identify(c)}
	if len(t.CA) > 0 {
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(t.CA) {
			errs = append(errs, authorities.Wrong("holds no certificate in PEM form"))
		}
	}
	if t.NoSNI {
		t.hideName(c)
	}
	return c, errors.Join(errs...)
}

// hideName keeps the name out of the handshake and checks it afterwards.
func (t TLS) hideName(c *tls.Config) {
	name, roots := c.ServerName, c.RootCAs
	c.ServerName, c.InsecureSkipVerify = "", true
	if t.Insecure {
		return
	}
	c.VerifyConnection = func(s tls.ConnectionState) error {
		between := x509.NewCertPool()
		for _, certificate := range s.PeerCertificates[1:] {
			between.AddCert(certificate)
		}
		_, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{DNSName: name, Roots: roots, Intermediates: between})
		return err
	}
}

func (t TLS) identify(c *tls.Config) error {
	if len(t.Certificate) == 0 && len(t.Key) == 0 {
		return nil
	}
	pair, err := tls.X509KeyPair(t.Certificate, t.Key)
	if err != nil {
		return certificate.About(err)
	}
	c.Certificates = []tls.Certificate{pair}
	return nil
}

func (t TLS) checkVersions() error {
	var errs []error
	check := func(s setting.Setting, version uint16) {
		if version != 0 && (version < tls.VersionTLS10 || version > tls.VersionTLS13) {
			errs = append(errs, s.About(setting.NotAllowed(fmt.Sprintf("%#04x", version), "TLS 1.0 to 1.3")))
		}
	}
	check(minVersion, t.MinVersion)
	check(maxVersion, t.MaxVersion)
	if t.MaxVersion != 0 && t.MinVersion > t.MaxVersion {
		errs = append(errs, minVersion.Wrong("is %s, above TLS.MaxVersion %s", tls.VersionName(t.MinVersion), tls.VersionName(t.MaxVersion)))
	}
	return errors.Join(errs...)
}

func (t TLS) checkSuites() error {
	known := map[uint16]bool{}
	for _, suite := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
		known[suite.ID] = suite.SupportedVersions[0] < tls.VersionTLS13
	}
	var errs []error
	for _, id := range t.CipherSuites {
		if !known[id] {
			m := cipherSuites.Wrong("has %s", tls.CipherSuiteName(id))
			m.Allowed = "those of crypto/tls up to TLS 1.2"
			errs = append(errs, m)
		}
	}
	return errors.Join(errs...)
}
