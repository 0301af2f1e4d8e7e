// about: method, body and headers after each kind of redirect
import http from 'k6/http';

export const options = { vus: 1, iterations: 1 };

const base = __ENV.BASE;

export default function () {
	const params = { headers: { Authorization: 'Bearer x', 'Content-Type': 'text/plain', 'X-Tag': 't' }, cookies: { c: '1' } };
	for (const code of [301, 302, 303, 307, 308]) {
		http.post(`${base}/redirect-to?code=${code}&url=/echo`, 'the body', params);
	}
	http.put(`${base}/redirect-to?code=302&url=/echo`, 'put');
	http.del(`${base}/redirect-to?code=307&url=/echo`);
	http.head(`${base}/redirect-to?code=302&url=/echo`);
	http.get(`${base}/redirect-to?url=${base.replace('127.0.0.1', 'localhost')}/echo`, params);
}
