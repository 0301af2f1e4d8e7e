// about: answers as text, as bytes and not at all; packed, in parts, HEAD
import http from 'k6/http';

export const options = { vus: 1, iterations: 1 };

const base = __ENV.BASE;

export default function () {
	const said = [
		http.get(`${base}/echo`, { responseType: 'none' }).body,
		new Uint8Array(http.get(`${base}/bytes/4`, { responseType: 'binary' }).body).join(),
		http.get(`${base}/gzip`).json('packed'),
		http.get(`${base}/chunked?n=2`).body,
		http.head(`${base}/echo`).body,
		http.get(`${base}/status/204`).body,
		http.get(`${base}/status/404`).body,
	];
	http.post(`${base}/note`, JSON.stringify(said));
}
