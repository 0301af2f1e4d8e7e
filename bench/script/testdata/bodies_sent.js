// about: bodies of every kind, and the methods
import http from 'k6/http';

export const options = { vus: 1, iterations: 1 };

const base = __ENV.BASE;

export default function () {
	http.post(`${base}/echo?text`, 'abc');
	http.post(`${base}/echo?form`, { a: 1, b: 'x y&z', c: ['p', 'q'], d: true });
	http.post(`${base}/echo?json`, JSON.stringify({ a: 1 }), { headers: { 'Content-Type': 'application/json' } });
	http.post(`${base}/echo?none`);
	http.post(`${base}/echo?null`, null);
	http.post(`${base}/echo?binary`, new Uint8Array([65, 66, 67]).buffer);
	http.put(`${base}/echo`, 'put');
	http.patch(`${base}/echo`, 'patch');
	http.del(`${base}/echo`);
	http.del(`${base}/echo`, 'body');
	http.options(`${base}/echo`);
	http.request('PURGE', `${base}/echo`);
	http.request('GET', `${base}/echo`, 'body of a GET');
	const wrong = http.post(`${base}/echo`, 5);
	http.post(`${base}/note`, `${wrong.status}`);
}
