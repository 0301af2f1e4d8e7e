// about: fail ends an iteration
import http from 'k6/http';
import { check, fail } from 'k6';

export const options = { vus: 1, iterations: 2 };

export default function () {
	const answer = http.get(`${__ENV.BASE}/status/500`);
	if (!check(answer, { right: (r) => r.status === 200 })) {
		fail('not right');
	}
	http.get(`${__ENV.BASE}/echo?never`);
}
