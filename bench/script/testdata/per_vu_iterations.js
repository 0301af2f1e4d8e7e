// about: executor per-vu-iterations
import http from 'k6/http';

export const options = { scenarios: { each: { executor: 'per-vu-iterations', vus: 3, iterations: 4 } } };

export default function () {
	http.get(`${__ENV.BASE}/echo?iteration=${__ITER}`, { headers: { 'X-Vu': `${__VU}` } });
}
