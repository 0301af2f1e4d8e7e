// about: options vus and duration
// spread: 2
import http from 'k6/http';
import { sleep } from 'k6';

export const options = { vus: 2, duration: '1s' };

export default function () {
	http.get(`${__ENV.BASE}/echo?vu=${__VU}`);
	sleep(0.3);
}
