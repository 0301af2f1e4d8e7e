// about: data of setup, of which each virtual user has a copy
import http from 'k6/http';

export const options = { scenarios: { each: { executor: 'per-vu-iterations', vus: 2, iterations: 2 } } };
const say = (data) => http.post(`${__ENV.BASE}/note`, JSON.stringify(data), { headers: { 'X-Vu': `${__VU}` } });

export function setup() {
	const token = http.post(`${__ENV.BASE}/login`, JSON.stringify({ user: 'setup', password: 'secret' }), { headers: { 'X-Vu': '0' } }).json('token');
	return { token, seen: 0 };
}

export default function (data) {
	data.seen++;
	say([data.token, data.seen]);
}

export function teardown(data) {
	say([data.token, data.seen]);
}
