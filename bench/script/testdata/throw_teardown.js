// about: an exception in teardown
import http from 'k6/http';

export const options = { vus: 1, iterations: 1 };

export default function () {
	http.get(`${__ENV.BASE}/echo`);
}

export function teardown() {
	http.post(`${__ENV.BASE}/note`, 'teardown');
	throw new Error('in teardown');
}
