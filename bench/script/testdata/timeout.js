// about: answers that come too late
import http from 'k6/http';
import { check } from 'k6';

export const options = { vus: 1, iterations: 1 };

const base = __ENV.BASE;

export default function () {
	const late = http.get(`${base}/slow?ms=2000`, { timeout: '100ms' });
	check(late, { 'no status': (r) => r.status === 0, 'its code': (r) => r.error_code === 1050, 'no body': (r) => r.body === null });
	check(http.get(`${base}/slow?ms=2001`, { timeout: 100 }), { 'in milliseconds': (r) => r.status === 0 });
	check(http.get(`${base}/slow?ms=10`, { timeout: '5s' }), { 'in time': (r) => r.status === 200 });
}
