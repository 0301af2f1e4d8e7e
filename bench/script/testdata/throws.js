// about: option throw
import http from 'k6/http';

export const options = { vus: 1, iterations: 1, throw: true };

export default function () {
	const said = [];
	for (const url of ['http://127.0.0.1:1/', 'http://127.0.0.1:xx/', `${__ENV.BASE}/status/500`]) {
		try {
			said.push(http.get(url).status);
		} catch (e) {
			said.push('thrown');
		}
	}
	http.post(`${__ENV.BASE}/note`, said.join());
}
