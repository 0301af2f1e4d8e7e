// about: requests at the same time, as a list and by name
import http from 'k6/http';
import { check } from 'k6';

export const options = { vus: 1, iterations: 1 };

const base = __ENV.BASE;
const params = { headers: { 'X-Any-Order': '1' } };

export default function () {
	const list = http.batch([
		['GET', `${base}/echo?1`, null, params],
		['POST', `${base}/echo?2`, { a: 1 }, params],
		{ method: 'PUT', url: `${base}/echo?3`, body: 'put', params },
		['GET', `${base}/status/404`, null, params],
	]);
	check(list, {
		'four answers': (all) => all.length === 4,
		'in order': (all) => all.map((r) => r.status).join() === '200,200,200,404',
		'each its own': (all) => all[2].json('body') === 'put',
	});
	const named = http.batch({ one: { method: 'GET', url: `${base}/echo?one`, params }, two: ['GET', `${base}/echo?two`, null, params] });
	check(named, { 'by name': (r) => r.one.json('query') === 'one' && r.two.json('query') === 'two' });
}
