// about: module k6/encoding
import http from 'k6/http';
import encoding, { b64decode } from 'k6/encoding';

export const options = { vus: 1, iterations: 1 };

export default function () {
	const text = 'h\u00e9?>~~';
	const said = [encoding.b64encode(text), encoding.b64encode(text, 'rawstd'), encoding.b64encode(text, 'url'), encoding.b64encode(text, 'rawurl'),
		encoding.b64encode(new Uint8Array([1, 2]).buffer), b64decode('aGk=', 'std', 's'), new Uint8Array(b64decode('aGk=')).join()];
	try {
		b64decode('%%', 'std', 's');
	} catch (e) {
		said.push('refused');
	}
	http.post(`${__ENV.BASE}/note`, JSON.stringify(said));
}
