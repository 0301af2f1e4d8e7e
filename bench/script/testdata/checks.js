// about: what checks count and return
import http from 'k6/http';
import { check } from 'k6';

export const options = { vus: 1, iterations: 1 };

export default function () {
	const note = {
		both: check(1, { 'is one': (v) => v === 1, 'is two': (v) => v === 2 }),
		values: check(null, { 'a text': 'x', 'an empty text': '', 'an object': {}, 'zero': 0, 'nothing': null }),
		none: check(1, {}),
		nothing: check(1, { 'returns nothing': () => {} }),
		tagged: check(1, { tagged: true }, { tag: 'x' }),
	};
	try {
		check(1, { before: true, throws: () => { throw new Error('in a check'); }, after: true });
	} catch (e) {
		note.thrown = e.message;
	}
	http.post(`${__ENV.BASE}/note`, JSON.stringify(note));
}
