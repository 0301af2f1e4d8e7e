// about: cookies that outlive an iteration
import http from 'k6/http';

export const options = { vus: 1, iterations: 3, noCookiesReset: true };

export default function () {
	http.get(`${__ENV.BASE}/cookies`);
	http.get(`${__ENV.BASE}/cookies/set?n=${__ITER}`);
}
