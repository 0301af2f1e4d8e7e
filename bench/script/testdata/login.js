// about: a login, what follows from its token, and a logout
import http from 'k6/http';
import { check } from 'k6';

export const options = { vus: 2, iterations: 2 };
const base = __ENV.BASE;

export default function () {
	const headers = { 'X-Vu': `${__VU}`, 'X-Any-Order': '1', 'Content-Type': 'application/json' };
	const login = http.post(`${base}/login`, JSON.stringify({ user: 'ann', password: 'secret' }), { headers });
	check(login, { 'logged in': (r) => r.status === 200 && r.json('token') === 'token-of-ann' });
	headers.Authorization = `Bearer ${login.json('token')}`;
	const list = http.get(`${base}/items`, { headers });
	const items = list.json('items');
	check(items, { 'two items': (all) => all.length === 2 });
	const item = http.get(`${base}/items/${items[1].id}`, { headers });
	check(item, { 'has a price': (r) => r.json().price === 1.5 });
	check(http.post(`${base}/logout`, null, { headers }), { 'logged out': (r) => r.status === 204 });
}
