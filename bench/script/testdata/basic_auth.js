// about: user and password in an address
import http from 'k6/http';
import { check } from 'k6';

export const options = { vus: 1, iterations: 1 };

const base = __ENV.BASE;

export default function () {
	const right = http.get(`${base.replace('//', '//ann:pa%20ss@')}/basic-auth/ann/pa%20ss`);
	check(right, { right: (r) => r.status === 200 });
	check(http.get(`${base}/basic-auth/ann/pass`), { without: (r) => r.status === 401 });
}
