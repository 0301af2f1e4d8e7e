package script

import (
	"testing"

	"contend/load"
)

// The points of ECDH are those of RFC 5903, section 8.1.
const pairsOfKeys = `(async () => {
	const { subtle } = crypto, written = (h) => encoding.b64encode(bytes(h).buffer, 'rawurl'), curve = { name: 'ECDH', namedCurve: 'P-256' }, oaep = { name: 'RSA-OAEP', modulusLength: 1024, hash: 'SHA-1' };
	const x = 'dad0b65394221cf9b051e1feca5787d098dfe637fc90b9ef945d0c3772581180', y = '5271a0461cdb8252d61f1c456fa3e59ab1f45b33accf5f58389e0577b8990bb3';
	const mine = await subtle.importKey('jwk', { kty: 'EC', crv: 'P-256', x: written(x), y: written(y), d: written('c88f01f510d9ac3f70a292daa2316de544e9aab8afe84049c62a9c57862d1433') }, curve, true, ['deriveBits', 'deriveKey']);
	const theirs = await subtle.importKey('raw', bytes('04d12dfb5289c8d4f81208b70270398c342296970a0bccb74c736fc7554494bf6356fbf3ca366cc23e8157854c13c58d6aac23f046ada30f8353e74f33039872ab'), curve, true, []);
	const ecdh = { name: 'ECDH', public: theirs };
	return `

func TestPairsOfKeys(t *testing.T) {
	var all []expression
	for _, c := range []expression{
		{`hex(await subtle.deriveBits(ecdh, mine, 256))`, "d6840f6b42f6edafd13116e0e12565202fef8e9ece7dce03812464d04b9442de"},
		{`hex(await subtle.exportKey('raw', await subtle.deriveKey(ecdh, mine, { name: 'AES-GCM', length: 128 }, true, ['encrypt'])))`, "d6840f6b42f6edafd13116e0e1256520"},
		{`hex(await subtle.exportKey('raw', theirs)).slice(0, 8) + theirs.algorithm.namedCurve + theirs.type`, "04d12dfbP-256public"},
		{`await (async () => { const a = await subtle.generateKey(curve, true, ['deriveBits']), b = await subtle.generateKey(curve, true, ['deriveBits']);
			return [a.privateKey.usages, a.publicKey.usages.length, hex(await subtle.deriveBits({ name: 'ECDH', public: b.publicKey }, a.privateKey, 128)) === hex(await subtle.deriveBits({ name: 'ECDH', public: a.publicKey }, b.privateKey, 128))].join(); })()`, "deriveBits,0,true"},
		{`await subtle.deriveBits(ecdh, mine, 512)`, "!64 bytes of what both keys have in common are wanted, which are 32"},
		{`await subtle.deriveBits({ name: 'ECDH' }, mine, 256)`, "!deriveBits: public: the key was not made by"},
		{`await subtle.deriveBits({ name: 'ECDH', public: (await subtle.generateKey({ name: 'ECDH', namedCurve: 'P-384' }, true, ['deriveBits'])).publicKey }, mine, 256)`, "!another's public one of the same curve"},
		{`await subtle.importKey('raw', bytes('04'), curve, true, [])`, "!the key is not of ECDH in raw"},
		{`await (async () => { const { privateKey, publicKey } = await subtle.generateKey(oaep, true, ['encrypt', 'decrypt']), label = text('l');
			const sent = await subtle.encrypt({ name: 'RSA-OAEP', label }, publicKey, text('secret')), got = await subtle.decrypt({ name: 'RSA-OAEP', label }, privateKey, sent);
			return [privateKey.usages, publicKey.usages, sent.byteLength, String.fromCharCode(...new Uint8Array(got))].join(); })()`, "decrypt,encrypt,128,secret"},
		{`await subtle.generateKey(oaep, true, ['encrypt', 'decrypt']).then(async (k) => subtle.decrypt('RSA-OAEP', k.privateKey, text('x')))`, "!the data was not made with this key and label"},
		{`await subtle.generateKey(oaep, true, ['encrypt']).then((k) => subtle.encrypt('RSA-OAEP', k.publicKey, new Uint8Array(200)))`, "!encrypt: "},
	} {
		all = append(all, expression{"await " + pairsOfKeys + c.text + "; })()", c.want})
	}
	comesTo(t, func(c Config, n int64) *load.Result { return drive(t, c, n, true) }, all)
}
