package cli

import (
	"crypto/tls"
	"fmt"
	"os"
	"slices"
	"strings"

	"contend/protocol/wire"
	"contend/setting"
)

// abTLS are the flags of ab that concern https. Like ab, it trusts any
// certificate.
type abTLS struct {
	Protocol    string `flag:"protocol,f" words:"TLS *protocol*: TLS1, TLS1.1, TLS1.2, TLS1.3 or ALL"`
	Ciphers     string `flag:"ciphers,Z" words:"cipher *suites* to allow up to TLS 1.2, in OpenSSL's names, separated by colons"`
	Certificate string `flag:"certificate,E" words:"PEM *file* with the client certificates and their private key"`
	NoSNI       bool   `flag:"no-sni,I" words:"do not send the host name in the TLS handshake"`
}

// given returns the flags that are set.
func (f *abTLS) given() []string {
	var list []string
	for flag, set := range map[string]bool{"-f": f.Protocol != "", "-Z": f.Ciphers != "", "-E": f.Certificate != "", "-I": f.NoSNI} {
		if set {
			list = append(list, flag)
		}
	}
	slices.Sort(list)
	return list
}

func (f *abTLS) config(c *wire.TLS) []error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	c.Insecure, c.NoSNI = true, f.NoSNI
	switch versions, known := abProtocols[strings.ToUpper(f.Protocol)]; {
	case known:
		c.MinVersion, c.MaxVersion = versions[0], versions[1]
	case strings.HasPrefix(strings.ToUpper(f.Protocol), "SSL"):
		wrong("-f is %q, which is broken (RFC 6176, RFC 7568) and not supported; expected TLS1, TLS1.1, TLS1.2, TLS1.3 or ALL", f.Protocol)
	default:
		wrong("-f is %q; expected TLS1, TLS1.1, TLS1.2, TLS1.3 or ALL", f.Protocol)
	}
	for name := range strings.FieldsFuncSeq(f.Ciphers, func(r rune) bool { return r == ':' || r == ',' || r == ' ' }) {
		id, known := abCiphers[name]
		if !known {
			wrong("-Z has %q, which is not a supported cipher suite of TLS 1.0 to 1.2; expected %s", name, strings.Join(abCipherNames(), ":"))
			continue
		}
		c.CipherSuites = append(c.CipherSuites, id)
	}
	if f.Certificate != "" {
		pem, err := os.ReadFile(f.Certificate)
		if err != nil {
			wrong("-E %w", setting.CannotRead(f.Certificate, err))
		}
		c.Certificate, c.Key = pem, pem
	}
	return errs
}

// abProtocols are the values of -f with the lowest and highest version.
var abProtocols = map[string][2]uint16{
	"":       {0, 0},
	"ALL":    {tls.VersionTLS10, tls.VersionTLS13},
	"TLS1":   {tls.VersionTLS10, tls.VersionTLS10},
	"TLS1.1": {tls.VersionTLS11, tls.VersionTLS11},
	"TLS1.2": {tls.VersionTLS12, tls.VersionTLS12},
	"TLS1.3": {tls.VersionTLS13, tls.VersionTLS13},
}

// abCiphers are the suites of crypto/tls up to TLS 1.2 by OpenSSL's names
// (openssl-ciphers(1), "Cipher Suite Names").
var abCiphers = map[string]uint16{
	"RC4-SHA":                       tls.TLS_RSA_WITH_RC4_128_SHA,
	"DES-CBC3-SHA":                  tls.TLS_RSA_WITH_3DES_EDE_CBC_SHA,
	"AES128-SHA":                    tls.TLS_RSA_WITH_AES_128_CBC_SHA,
	"AES256-SHA":                    tls.TLS_RSA_WITH_AES_256_CBC_SHA,
	"AES128-SHA256":                 tls.TLS_RSA_WITH_AES_128_CBC_SHA256,
	"AES128-GCM-SHA256":             tls.TLS_RSA_WITH_AES_128_GCM_SHA256,
	"AES256-GCM-SHA384":             tls.TLS_RSA_WITH_AES_256_GCM_SHA384,
	"ECDHE-ECDSA-RC4-SHA":           tls.TLS_ECDHE_ECDSA_WITH_RC4_128_SHA,
	"ECDHE-ECDSA-AES128-SHA":        tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA,
	"ECDHE-ECDSA-AES256-SHA":        tls.TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA,
	"ECDHE-RSA-RC4-SHA":             tls.TLS_ECDHE_RSA_WITH_RC4_128_SHA,
	"ECDHE-RSA-DES-CBC3-SHA":        tls.TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA,
	"ECDHE-RSA-AES128-SHA":          tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA,
	"ECDHE-RSA-AES256-SHA":          tls.TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA,
	"ECDHE-ECDSA-AES128-SHA256":     tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256,
	"ECDHE-RSA-AES128-SHA256":       tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256,
	"ECDHE-RSA-AES128-GCM-SHA256":   tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	"ECDHE-ECDSA-AES128-GCM-SHA256": tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
	"ECDHE-RSA-AES256-GCM-SHA384":   tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	"ECDHE-ECDSA-AES256-GCM-SHA384": tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
	"ECDHE-RSA-CHACHA20-POLY1305":   tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
	"ECDHE-ECDSA-CHACHA20-POLY1305": tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
}

func abCipherNames() []string {
	var names []string
	for name := range abCiphers {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
