// about: a refused login whose answer is used nevertheless
import http from 'k6/http';
import { check } from 'k6';

export const options = { vus: 1, iterations: 1 };

const base = __ENV.BASE;

export default function () {
	const login = http.post(`${base}/login`, JSON.stringify({ user: 'ann', password: 'wrong' }));
	check(login, { 'logged in': (r) => r.status === 200, 'says why': (r) => r.json('error') === 'who are you' });
	const list = http.get(`${base}/items`, { headers: { Authorization: `Bearer ${login.json('token')}` } });
	check(list, { listed: (r) => r.status === 200 });
}
