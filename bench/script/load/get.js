import http from 'k6/http';
import { check } from 'k6';

export const options = { vus: +__ENV.VUS, duration: __ENV.DURATION };

export default function () {
	check(http.get(`${__ENV.BASE}/`), { right: (r) => r.status === 200 });
}
