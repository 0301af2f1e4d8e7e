// about: module k6/crypto
import http from 'k6/http';
import crypto, { createHash, createHMAC, hmac, md5, randomBytes, sha256 } from 'k6/crypto';

export const options = { vus: 1, iterations: 1 };

export default function () {
	const hash = createHash('sha1');
	hash.update('a');
	hash.update('b');
	const mac = createHMAC('sha512', 'key');
	mac.update('text');
	http.post(`${__ENV.BASE}/note`, JSON.stringify([
		md5('text', 'hex'), sha256('text', 'base64'), crypto.sha384('text', 'base64url'), crypto.sha512('text', 'base64rawurl'),
		hmac('sha256', 'key', 'text', 'hex'), hash.digest('hex'), mac.digest('base64'),
		new Uint8Array(md5('text', 'binary')).length, randomBytes(5).byteLength, sha256(new Uint8Array([1, 2]).buffer, 'hex'),
	]));
}
