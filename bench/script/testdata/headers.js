// about: headers sent and got
import http from 'k6/http';

export const options = { vus: 1, iterations: 1, userAgent: 'shopper/1.0' };
const base = __ENV.BASE;

export default function () {
	http.get(`${base}/echo`, { headers: { accept: 'text/plain', 'X-Tag': 5, Host: 'shop.example' } });
	http.get(`${base}/echo`, { headers: { 'User-Agent': 'other/2.0', 'x-tag': 'lower' } });
	const r = http.get(`${base}/items`);
	http.post(`${base}/note`, `${r.headers['Content-Type']} ${r.headers['Content-Length']} ${r.status_text} ${r.proto} ${r.request.method}`);
}
