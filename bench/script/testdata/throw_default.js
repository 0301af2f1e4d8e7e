// about: an exception in an iteration, after which the next ones go on
import http from 'k6/http';
import { check } from 'k6';

export const options = { vus: 1, iterations: 3 };

export default function () {
	http.get(`${__ENV.BASE}/echo?iteration=${__ITER}`);
	if (__ITER === 1) {
		throw new Error('in an iteration');
	}
	check(1, { 'to the end': true });
}

export function teardown() {
	http.post(`${__ENV.BASE}/note`, 'teardown');
}
