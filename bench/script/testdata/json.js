// about: answers in JSON, whole and by path
import http from 'k6/http';

export const options = { vus: 1, iterations: 1 };

const base = __ENV.BASE;

export default function () {
	const items = http.get(`${base}/items`, { headers: { Authorization: 'Bearer token-of-ann' } });
	const said = [
		items.json('items.1.name'), items.json('items.#'), items.json('items.#.id'), items.json('items.#(id==12).name'),
		items.json('items.0').id, items.json('absent') === undefined, items.json().items.length,
	];
	for (const path of ['/redirect/0', '/status/204']) {
		try {
			http.get(base + path).json();
			said.push('read');
		} catch (e) {
			said.push('thrown');
		}
	}
	http.post(`${base}/note`, JSON.stringify(said));
}
