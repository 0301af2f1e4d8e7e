// about: option stages
// spread: 2
import http from 'k6/http';
import { sleep } from 'k6';

export const options = { stages: [{ duration: '1s', target: 1 }, { duration: '500ms', target: 0 }] };

export default function () {
	http.get(`${__ENV.BASE}/echo?vu=${__VU}`);
	sleep(0.25);
}
