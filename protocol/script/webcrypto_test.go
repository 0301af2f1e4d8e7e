package script

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"fmt"
	"testing"

	"contend/internal/testenv"
	"contend/load"
)

// webExpressions are those of the global crypto. Figures are of RFC 6070, RFC 5869 (test case 1), NIST SP 800-38A
// (F.2.1 and F.5.1) and of McGrew and Viega's AES-GCM (test case 2); what a pair of keys signs it verifies.
var webExpressions = []expression{
	{`await crypto.subtle.digest('SHA-256', text('abc')).then(hex).then((s) => s.slice(0, 8))`, "ba7816bf"},
	{`await crypto.subtle.digest({ name: 'sha-1' }, text('abc').buffer).then(hex)`, "a9993e364706816aba3e25717850c26c9cd0d89d"},
	{`await crypto.subtle.digest('MD5', text('abc'))`, `!the algorithm is "MD5"; expected SHA-1,`},
	{`await crypto.subtle.digest('SHA-1', 'abc').catch((e) => 'caught ' + e.message)`, "caught an ArrayBuffer is needed, not text"},
	{`await (async () => { const k = await crypto.subtle.importKey('raw', text('Jefe'), { name: 'HMAC', hash: { name: 'SHA-256' } }, false, ['sign', 'verify']);
			const m = await crypto.subtle.sign('HMAC', k, text('what do ya want for nothing?'));
			return hex(m).slice(0, 8) + await crypto.subtle.verify({ name: 'HMAC' }, k, m, text('what do ya want for nothing?')) + await crypto.subtle.verify('HMAC', k, m, text('other')); })()`, "5bdcc146truefalse"},
	{`await crypto.subtle.importKey('spki', text('a'), { name: 'HMAC', hash: 'SHA-1' }, false, ['sign'])`, `!the format is "spki"; for HMAC expected jwk, raw`},
	{`await crypto.subtle.importKey('jwk', {}, 'HKDF', false, ['deriveBits'])`, `!the format is "jwk"; for HKDF expected raw`},
	{`await crypto.subtle.importKey('raw', text('a'), 'DES', false, ['sign'])`, `!the algorithm is "DES"; expected AES-CBC, AES-CTR, AES-GCM, ECDH, ECDSA, HKDF, HMAC, PBKDF2, RSA-OAEP, RSA-PSS, RSASSA-PKCS1-v1_5`},
	{`await crypto.subtle.importKey('raw', text('a'), 'AES-CBC', false, ['encrypt'])`, "!the key has 1 bytes; for AES-CBC expected 16, 24, 32"},
	{`await crypto.subtle.importKey('raw', text('a'), 'HMAC', false, ['sign'])`, "!the algorithm has no hash"},
	{`await crypto.subtle.importKey('raw', text('a'), { name: 'HMAC', hash: 'SHA-1' }, false, ['encrypt'])`, `!a usage is "encrypt"; expected sign, verify`},
	{`await crypto.subtle.importKey('raw', text('a'), { name: 'HMAC', hash: 'SHA-1' }, false, ['sign']).then((k) => crypto.subtle.verify('HMAC', k, text('a'), text('a')))`, "!the key is for sign"},
	{`await crypto.subtle.sign('HMAC', {}, text('a'))`, "!the key was not made by importKey, generateKey or deriveKey"},
	{`crypto.subtle.wrapKey()`, "!crypto.subtle.wrapKey is not there; those that are: decrypt, deriveBits, deriveKey, digest, encrypt, exportKey, generateKey, importKey, sign, verify"},
	{`await key('AES-GCM', '00000000000000000000000000000000').then((k) => crypto.subtle.encrypt({ name: 'AES-GCM', iv: new Uint8Array(12) }, k, new Uint8Array(16))).then(hex)`, "0388dace60b6a392f328c2b971b2fe78ab6e47d42cec13bdf53a67b21257bddf"},
	{`await key('AES-GCM', '00000000000000000000000000000000').then((k) => crypto.subtle.decrypt({ name: 'AES-GCM', iv: new Uint8Array(12) }, k, bytes('0388dace60b6a392f328c2b971b2fe78ab6e47d42cec13bdf53a67b21257bddf'))).then(hex)`, "00000000000000000000000000000000"},
	{`await key('AES-GCM', '00000000000000000000000000000000').then((k) => crypto.subtle.decrypt({ name: 'AES-GCM', iv: new Uint8Array(12), additionalData: text('x') }, k, bytes('0388dace60b6a392f328c2b971b2fe78ab6e47d42cec13bdf53a67b21257bddf')))`, "!the data was not made with this key, iv and additionalData"},
	{`await key('AES-GCM', '00000000000000000000000000000000').then((k) => crypto.subtle.encrypt('AES-GCM', k, text('a')))`, "!AES-GCM needs an iv"},
	{`await key('AES-CBC', '2b7e151628aed2a6abf7158809cf4f3c').then((k) => crypto.subtle.encrypt({ name: 'AES-CBC', iv: bytes('000102030405060708090a0b0c0d0e0f') }, k, bytes('6bc1bee22e409f96e93d7e117393172a'))).then((b) => hex(b).slice(0, 32) + b.byteLength)`, "7649abac8119b246cee98e9b12e9197d32"},
	{`await key('AES-CBC', '2b7e151628aed2a6abf7158809cf4f3c').then(async (k) => { const a = { name: 'aes-cbc', iv: new Uint8Array(16) }; return String.fromCharCode(...new Uint8Array(await crypto.subtle.decrypt(a, k, await crypto.subtle.encrypt(a, k, text('sixteen letters!'))))); })`, "sixteen letters!"},
	{`await key('AES-CBC', '2b7e151628aed2a6abf7158809cf4f3c').then((k) => crypto.subtle.decrypt({ name: 'AES-CBC', iv: new Uint8Array(16) }, k, new Uint8Array(16)))`, "!the data was not made with this key and iv"},
	{`await key('AES-CBC', '2b7e151628aed2a6abf7158809cf4f3c').then((k) => crypto.subtle.decrypt({ name: 'AES-CBC', iv: new Uint8Array(16) }, k, new Uint8Array(15)))`, "!the data has 15 bytes, which is no multiple of 16"},
	{`await key('AES-CBC', '2b7e151628aed2a6abf7158809cf4f3c').then((k) => crypto.subtle.encrypt({ name: 'AES-CBC', iv: new Uint8Array(12) }, k, new Uint8Array(16)))`, "!the iv has 12 bytes; expected 16"},
	{`await key('AES-CTR', '2b7e151628aed2a6abf7158809cf4f3c').then((k) => crypto.subtle.encrypt({ name: 'AES-CTR', counter: bytes('f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff'), length: 64 }, k, bytes('6bc1bee22e409f96e93d7e117393172a'))).then(hex)`, "874d6191b620e3261bef6864990db6ce"},
	{`await crypto.subtle.importKey('raw', text('password'), 'PBKDF2', false, ['deriveBits']).then((k) => crypto.subtle.deriveBits({ name: 'PBKDF2', hash: 'SHA-1', salt: text('salt'), iterations: 2 }, k, 160)).then(hex)`, "ea6c014dc72d6f8ccd1ed92ace1d41f0d8de8957"},
	{`await crypto.subtle.importKey('raw', text('password'), 'PBKDF2', false, ['deriveBits']).then((k) => crypto.subtle.deriveBits({ name: 'PBKDF2', hash: 'SHA-1', salt: text('salt') }, k, 160))`, "!PBKDF2 needs iterations"},
	{`await crypto.subtle.importKey('raw', bytes('0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b'), 'HKDF', false, ['deriveBits']).then((k) => crypto.subtle.deriveBits({ name: 'HKDF', hash: 'SHA-256', salt: bytes('000102030405060708090a0b0c'), info: bytes('f0f1f2f3f4f5f6f7f8f9') }, k, 336)).then(hex)`, "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"},
	{`await crypto.subtle.importKey('raw', text('password'), 'PBKDF2', false, ['deriveKey']).then((k) => crypto.subtle.deriveKey({ name: 'PBKDF2', hash: 'SHA-1', salt: text('salt'), iterations: 1 }, k, { name: 'AES-GCM', length: 128 }, true, ['encrypt'])).then((k) => crypto.subtle.exportKey('raw', k)).then(hex)`, "0c60c80f961f0e71f3a9b524af601206"},
	{`await key('AES-CBC', '2b7e151628aed2a6abf7158809cf4f3c').then((k) => crypto.subtle.exportKey('raw', k))`, "!the key is not extractable"},
	{`await crypto.subtle.generateKey({ name: 'HMAC', hash: 'SHA-256' }, true, ['sign']).then(async (k) => [k.type, k.algorithm.name, k.algorithm.hash.name, k.usages, (await crypto.subtle.exportKey('raw', k)).byteLength].join())`, "secret,HMAC,SHA-256,sign,64"},
	{`await crypto.subtle.generateKey({ name: 'AES-GCM', length: 192 }, true, ['encrypt']).then((k) => crypto.subtle.exportKey('raw', k)).then((b) => b.byteLength)`, "24"},
	{`await crypto.subtle.generateKey({ name: 'AES-GCM', length: 100 }, true, ['encrypt'])`, "!the key has 12 bytes"},
	{`await crypto.subtle.generateKey('PBKDF2', true, ['deriveKey'])`, "!keys of PBKDF2 are imported"},
	{`await signs({ name: 'ECDSA', namedCurve: 'P-384' }, { name: 'ECDSA', hash: 'SHA-384' })`, "96,true,false"},
	{`await signs({ name: 'ECDSA', namedCurve: 'P-1' }, {})`, "!the namedCurve is P-1; expected P-256, P-384, P-521"},
	{`await signs({ name: 'RSASSA-PKCS1-v1_5', modulusLength: 1024, hash: 'SHA-256' }, 'RSASSA-PKCS1-v1_5')`, "128,true,false"},
	{`await signs({ name: 'RSA-PSS', modulusLength: 1024, hash: 'SHA-256' }, { name: 'RSA-PSS', saltLength: 32 })`, "128,true,false"},
	{`await crypto.subtle.importKey('raw', text('a'), 'HKDF', false, ['deriveBits']).then((k) => crypto.subtle.deriveBits({ name: 'HKDF', hash: 'SHA-256', salt: text('s'), info: text('i') }, k))`, "!the length is undefined; expected"},
	{`await crypto.subtle.importKey('raw', text('a'), 'PBKDF2', false, ['deriveBits']).then((k) => crypto.subtle.deriveBits({ name: 'PBKDF2', hash: 'SHA-1', salt: text('s'), iterations: 10000000 }, k, 1048576))`, "!the iterations is 10000000; expected 1 to 1525"},
	{`await signs({ name: 'RSA-PSS', modulusLength: 1024, hash: 'SHA-256' }, { name: 'RSA-PSS', saltLength: 0 })`, "!the saltLength is 0; expected 1 to 512"},
	{`await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign']).then((pair) => crypto.subtle.exportKey('pkcs8', pair.privateKey)).then((b) => crypto.subtle.importKey('pkcs8', b, { name: 'RSA-PSS', hash: 'SHA-1' }, false, ['sign']))`, "!the key is not of RSA-PSS in pkcs8: it is one of the curve P-256"},
	{`await crypto.subtle.importKey('pkcs8', text('no'), { name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign'])`, "!the key is not of ECDSA in pkcs8"},
}

func TestWebCrypto(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, drive func(Config, int64) *load.Result) { comesTo(t, drive, webExpressions) })
}

// A signature of another program is verified, as a token of ES256 would be.
func TestWebKeys(t *testing.T) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	testenv.Must(t, err)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	testenv.Must(t, err)
	spki, err := x509.MarshalPKIXPublicKey(private.Public())
	testenv.Must(t, err)
	comesTo(t, func(c Config, n int64) *load.Result { return drive(t, c, n, true) }, []expression{{fmt.Sprintf(`await (async () => {
		const algorithm = { name: 'ECDSA', namedCurve: 'P-256' }, es256 = { name: 'ECDSA', hash: 'SHA-256' };
		const mine = await crypto.subtle.importKey('pkcs8', bytes('%x'), algorithm, true, ['sign']);
		const theirs = await crypto.subtle.importKey('spki', bytes('%x'), algorithm, true, ['verify']);
		const signature = await crypto.subtle.sign(es256, mine, text('token'));
		const again = hex(await crypto.subtle.exportKey('pkcs8', mine)) + hex(await crypto.subtle.exportKey('spki', theirs));
		return [signature.byteLength, await crypto.subtle.verify(es256, theirs, signature, text('token')), again === '%[1]x%[2]x'];
	})()`, pkcs8, spki), "64,true,true"}})
}
