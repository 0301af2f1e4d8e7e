package script

import (
	"testing"

	"contend/load"
)

// The keys and signatures are those of RFC 7515, appendix A.1 and A.3.
const jwkKeys = `(async () => {
	const octets = { kty: 'oct', k: 'AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow' };
	const point = { kty: 'EC', crv: 'P-256', x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU', y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0' };
	const d = 'jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI', claims = '.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ';
	const { subtle } = crypto, hmac = { name: 'HMAC', hash: 'SHA-256' }, curve = { name: 'ECDSA', namedCurve: 'P-256' }, es256 = { name: 'ECDSA', hash: 'SHA-256' };
	const sent = (s) => encoding.b64decode(s, 'rawurl'), written = (b) => encoding.b64encode(b, 'rawurl');
	const wide = { name: 'RSA-PSS', modulusLength: 1024, hash: 'SHA-256' };
	return `

func TestJSONWebKeys(t *testing.T) {
	var all []expression
	for _, c := range []expression{
		{`written(await subtle.sign('HMAC', await subtle.importKey('jwk', octets, hmac, true, ['sign']), text('eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9' + claims)))`, "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"},
		{`JSON.stringify(await subtle.exportKey('jwk', await subtle.importKey('jwk', octets, hmac, true, ['sign'])))`,
			`{"alg":"HS256","ext":true,"k":"AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow","key_ops":["sign"],"kty":"oct"}`},
		{`(await subtle.exportKey('jwk', await subtle.generateKey({ name: 'AES-GCM', length: 128 }, true, ['encrypt']))).alg`, "A128GCM"},
		{`await subtle.verify(es256, await subtle.importKey('jwk', point, curve, true, ['verify']), sent('DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q'), text('eyJhbGciOiJFUzI1NiJ9' + claims))`, "true"},
		{`await (async () => { const mine = await subtle.importKey('jwk', { ...point, d }, curve, true, ['sign']), theirs = await subtle.importKey('jwk', point, curve, true, ['verify']);
			const back = await subtle.exportKey('jwk', mine); return [mine.type, theirs.type, await subtle.verify(es256, theirs, await subtle.sign(es256, mine, text('a')), text('a')), back.d === d, back.y === point.y].join(); })()`, "private,public,true,true,true"},
		{`await (async () => { const { privateKey, publicKey } = await subtle.generateKey(wide, true, ['sign', 'verify']);
			const again = async (k, use) => subtle.importKey('jwk', await subtle.exportKey('jwk', k), wide, true, [use]), pss = { name: 'RSA-PSS', saltLength: 32 };
			return [await subtle.verify(pss, await again(publicKey, 'verify'), await subtle.sign(pss, await again(privateKey, 'sign'), text('a')), text('a')), Object.keys(await subtle.exportKey('jwk', publicKey))].join(); })()`, "true,e,kty,n"},
		{`await subtle.importKey('jwk', octets, curve, true, ['verify'])`, `!kty is "oct"; for ECDSA expected EC`},
		{`await subtle.importKey('jwk', { kty: 'oct', k: '?' }, hmac, true, ['sign'])`, `!the member k of a JWK of the type oct is "?"; expected base64url`},
		{`await subtle.importKey('jwk', 'text', hmac, true, ['sign'])`, "!a key in the format jwk is an object, not text"},
		{`await subtle.importKey('jwk', { ...point, crv: 'P-1' }, curve, true, ['verify'])`, `!crv is "P-1"; expected P-256, P-384, P-521`},
		{`await subtle.importKey('jwk', { ...point, x: point.y }, curve, true, ['verify'])`, "!the key is not of ECDSA in jwk"},
		{`await subtle.importKey('jwk', { ...point, d: point.x }, curve, true, ['sign'])`, "!the key is not of ECDSA in jwk"},
		{`await subtle.importKey('jwk', point, { name: 'ECDSA', namedCurve: 'P-384' }, true, ['verify'])`, "!it is one of the curve P-256"},
	} {
		all = append(all, expression{"await " + jwkKeys + c.text + "; })()", c.want})
	}
	comesTo(t, func(c Config, n int64) *load.Result { return drive(t, c, n, true) }, all)
}
