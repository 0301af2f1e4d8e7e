// about: the global crypto: digests, HMAC, AES, PBKDF2, and keys that come and go
import http from 'k6/http';

export const options = { vus: 1, iterations: 1 };
const hex = (b) => Array.from(new Uint8Array(b), (x) => x.toString(16).padStart(2, '0')).join('');
const bytes = (n, from) => new Uint8Array(n).map((_, i) => from + i);

export default async function () {
	const said = [];
	const { subtle } = crypto;
	said.push(hex(await subtle.digest('SHA-512', bytes(5, 0))));
	const mac = await subtle.importKey('raw', bytes(20, 1), { name: 'HMAC', hash: 'SHA-384' }, true, ['sign', 'verify']);
	const signature = await subtle.sign('HMAC', mac, bytes(9, 7));
	said.push(hex(signature), await subtle.verify('HMAC', mac, signature, bytes(9, 7)), await subtle.verify('HMAC', mac, signature, bytes(9, 8)));
	said.push(mac.type, mac.extractable, mac.algorithm.name, hex(await subtle.exportKey('raw', mac)));
	for (const algorithm of [{ name: 'AES-CBC', iv: bytes(16, 3) }, { name: 'AES-GCM', iv: bytes(12, 3), additionalData: bytes(3, 0) }, { name: 'AES-CTR', counter: bytes(16, 3), length: 64 }]) {
		const key = await subtle.importKey('raw', bytes(32, 9), algorithm.name, false, ['encrypt', 'decrypt']);
		const sealed = await subtle.encrypt(algorithm, key, bytes(21, 0));
		said.push(algorithm.name, hex(sealed), hex(await subtle.decrypt(algorithm, key, sealed)));
	}
	const password = await subtle.importKey('raw', bytes(8, 97), { name: 'PBKDF2' }, false, ['deriveBits']);
	said.push(hex(await subtle.deriveBits({ name: 'PBKDF2', hash: 'SHA-256', salt: bytes(16, 0), iterations: 1000 }, password, 256)));
	const { privateKey, publicKey } = await subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign', 'verify']);
	const es256 = { name: 'ECDSA', hash: { name: 'SHA-256' } };
	const token = await subtle.sign(es256, privateKey, bytes(10, 0));
	said.push(token.byteLength, await subtle.verify(es256, publicKey, token, bytes(10, 0)), privateKey.type, publicKey.type);
	http.post(`${__ENV.BASE}/note`, said.join(' '));
}
