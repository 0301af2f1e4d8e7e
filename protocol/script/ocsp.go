package script

import (
	"strings"

	"github.com/grafana/sobek"
	"golang.org/x/crypto/ocsp"
)

// What a server's certificate may be called, and why, by the constants of k6/http.
var (
	ocspStatuses = map[int]string{ocsp.Good: "good", ocsp.Revoked: "revoked", ocsp.Unknown: "unknown", ocsp.ServerFailed: "server_failed"}
	ocspReasons  = map[int]string{ocsp.Unspecified: "unspecified", ocsp.KeyCompromise: "key_compromise", ocsp.CACompromise: "ca_compromise",
		ocsp.AffiliationChanged: "affiliation_changed", ocsp.Superseded: "superseded", ocsp.CessationOfOperation: "cessation_of_operation",
		ocsp.CertificateHold: "certificate_hold", ocsp.RemoveFromCRL: "remove_from_crl", ocsp.PrivilegeWithdrawn: "privilege_withdrawn", ocsp.AACompromise: "aa_compromise"}
)

// ocspConstants adds these to the exports of a module.
func ocspConstants(all exports) {
	for prefix, words := range map[string]map[int]string{"OCSP_STATUS_": ocspStatuses, "OCSP_REASON_": ocspReasons} {
		for _, word := range words {
			all[prefix+strings.ToUpper(word)] = word
		}
	}
}

// ocspValue is what the server's handshake says of its certificate; all of it is empty where it says nothing.
func (r *response) ocspValue() sobek.Value {
	all := exports{"produced_at": 0, "this_update": 0, "next_update": 0, "revoked_at": 0, "revocation_reason": "", "status": ""}
	if r.tls != nil && len(r.tls.OCSPResponse) > 0 {
		if said, err := ocsp.ParseResponse(r.tls.OCSPResponse, nil); err == nil {
			all["status"] = ocspStatuses[said.Status]
			all["produced_at"], all["this_update"], all["next_update"] = said.ProducedAt.Unix(), said.ThisUpdate.Unix(), said.NextUpdate.Unix()
			if said.Status == ocsp.Revoked {
				all["revoked_at"], all["revocation_reason"] = said.RevokedAt.Unix(), ocspReasons[said.RevocationReason]
			}
		}
	}
	return r.v.object(all)
}
