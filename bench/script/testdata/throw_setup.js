// about: an exception in setup
import http from 'k6/http';

export const options = { vus: 1, iterations: 1 };

export function setup() {
	http.post(`${__ENV.BASE}/note`, 'setup');
	throw new Error('in setup');
}

export default function () {
	http.get(`${__ENV.BASE}/echo`);
}

export function teardown() {
	http.post(`${__ENV.BASE}/note`, 'teardown');
}
