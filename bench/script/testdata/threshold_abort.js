// about: a threshold that ends the run
// spread: 40
import http from 'k6/http';
import { sleep } from 'k6';

export const options = { vus: 1, duration: '20s', thresholds: { http_req_failed: [{ threshold: 'rate<0.1', abortOnFail: true }] } };

export default function () {
	http.get(`${__ENV.BASE}/status/500`);
	sleep(0.1);
}

export function teardown() {
	http.post(`${__ENV.BASE}/note`, 'teardown');
}
