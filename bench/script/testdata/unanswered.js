// about: requests without an answer, and what their responses say
import http from 'k6/http';

export const options = { vus: 1, iterations: 1 };

const base = __ENV.BASE;

export default function () {
	const said = [];
	for (const url of ['http://127.0.0.1:1/', `${base}/close`, 'http://nobody.invalid/', 'ftp://127.0.0.1/', 'http://127.0.0.1:xx/']) {
		const r = http.get(url);
		said.push(`${r.status} ${r.error_code} ${r.error !== ''} ${r.body}`);
	}
	said.push(http.get(`${base}/status/503`).error_code);
	http.post(`${base}/note`, said.join('\n'));
}
