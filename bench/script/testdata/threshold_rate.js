// about: a threshold on the share of failed requests, which fails
import http from 'k6/http';

export const options = { vus: 1, iterations: 4, thresholds: { http_req_failed: ['rate<0.25'], checks: ['rate>=0'] } };

export default function () {
	http.get(`${__ENV.BASE}/status/${__ITER % 2 ? 500 : 200}`);
}
