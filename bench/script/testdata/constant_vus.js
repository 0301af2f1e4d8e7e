// about: executor constant-vus
// spread: 2
import http from 'k6/http';
import { sleep } from 'k6';

export const options = { scenarios: { steady: { executor: 'constant-vus', vus: 3, duration: '1s', gracefulStop: '1s' } } };

export default function () {
	http.get(`${__ENV.BASE}/echo?vu=${__VU}`);
	sleep(0.35);
}
