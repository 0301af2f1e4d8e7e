package wiretest

import (
	"crypto/tls"
	"sync"

	"contend/internal/testenv"
)

var own = sync.OnceValue(func() testenv.Certificate { return testenv.NewCertificate("127.0.0.1", "example.com") })

// Certificate is one for 127.0.0.1 and example.com, its own authority, always the same.
func Certificate() tls.Certificate { return own().Certificate }

// Authority is the certificate in PEM form.
func Authority() []byte { return own().PEM }
