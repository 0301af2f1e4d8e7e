import http from 'k6/http';
import { check } from 'k6';

export const options = { vus: +__ENV.VUS, duration: __ENV.DURATION };

export default async function () {
	check(await http.asyncRequest('GET', `${__ENV.BASE}/`), { right: (r) => r.status === 200 });
}
