// about: option maxRedirects
import http from 'k6/http';

export const options = { vus: 1, iterations: 1, maxRedirects: 1, thresholds: { http_reqs: ['count==8'] } };

export default function () {
	const limited = http.get(`${__ENV.BASE}/redirect/3`);
	const own = http.get(`${__ENV.BASE}/redirect/4`, { redirects: 5 });
	http.post(`${__ENV.BASE}/note`, `${limited.status} ${own.status}`);
}
