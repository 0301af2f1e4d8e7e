// about: how far redirects are followed
import http from 'k6/http';

export const options = { vus: 1, iterations: 1 };

const base = __ENV.BASE;

export default function () {
	const said = [];
	const get = (path, params) => {
		const r = http.get(base + path, params);
		said.push(`${path} ${r.status} ${r.url.replace(base, '')} ${r.body} ${r.error_code}`);
	};
	get('/redirect/3');
	get('/redirect/10');
	get('/redirect/11');
	get('/redirect/3', { redirects: 0 });
	get('/redirect/3', { redirects: 2 });
	get('/status/302');
	get('/status/304');
	http.post(`${base}/note`, said.join('\n'));
}
