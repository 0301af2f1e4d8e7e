import http from 'k6/http';
import { check } from 'k6';

export const options = { vus: 50, duration: __ENV.DURATION };
const base = __ENV.BASE || __ENV.BASE_URL;

export default function () {
	const json = { headers: { 'Content-Type': 'application/json' } };
	const login = http.post(`${base}/login`, JSON.stringify({ user: `user${__VU}`, password: 'secret' }), json);
	const token = login.json('token');
	check(login, { 'has a token': () => token.length === 16 });
	const known = { headers: { Authorization: `Bearer ${token}` } };
	const list = http.get(`${base}/items`, known).json();
	check(list, { 'has items': (l) => l.items.length === 3 });
	const item = http.get(`${base}/items/${list.items[__ITER % 3].id}`, known);
	check(item, { 'has a price': (r) => r.json('price') === 1.5 });
	const changed = http.post(`${base}/items/12`, JSON.stringify({ price: item.json('price') + 1 }), { headers: { ...json.headers, ...known.headers } });
	check(changed, { changed: (r) => r.status === 200 });
	check(http.post(`${base}/logout`, null, known), { 'logged out': (r) => r.status === 204 });
}
