// about: data in a file, shared by the virtual users
import http from 'k6/http';
import { SharedArray } from 'k6/data';

const users = new SharedArray('users', () => JSON.parse(open('./data/users.json')));
export const options = { scenarios: { each: { executor: 'per-vu-iterations', vus: 2, iterations: 3 } } };

export default function () {
	const user = users[(__VU + __ITER) % users.length];
	const said = [user.name, users.length, users.map((u) => u.name).join('')];
	try {
		users[0].name = 'changed';
		said.push('changed');
	} catch (e) {
		said.push('refused');
	}
	http.post(`${__ENV.BASE}/note`, JSON.stringify(said), { headers: { 'X-Vu': `${__VU}` } });
}
