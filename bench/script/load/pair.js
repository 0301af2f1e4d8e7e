import http from 'k6/http';
import { check } from 'k6';

export const options = { vus: +__ENV.VUS, duration: __ENV.DURATION };

export default async function () {
	const both = await Promise.all([http.asyncRequest('GET', `${__ENV.BASE}/`), http.asyncRequest('GET', `${__ENV.BASE}/items`)]);
	check(both, { right: (all) => all.every((r) => r.status === 200) });
}
