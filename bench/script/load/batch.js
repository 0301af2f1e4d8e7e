import http from 'k6/http';
import { check } from 'k6';

export const options = { vus: +__ENV.VUS, duration: __ENV.DURATION };

export default function () {
	const all = http.batch([`${__ENV.BASE}/`, `${__ENV.BASE}/items`, `${__ENV.BASE}/items/12`]);
	check(all, { right: (all) => all.every((r) => r.status === 200) });
}
