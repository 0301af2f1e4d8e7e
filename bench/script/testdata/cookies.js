// about: cookies are kept within an iteration and forgotten after it
import http from 'k6/http';

const base = __ENV.BASE;
export const options = { vus: 1, iterations: 2 };

export default function () {
	http.get(`${base}/cookies?first`);
	const set = http.get(`${base}/cookies/set?a=1&b=2`);
	http.get(`${base}/cookies?kept`);
	http.get(`${base}/cookies?own`, { cookies: { c: '3' } });
	http.get(`${base}/cookies?replaced`, { cookies: { a: { value: 'r', replace: true } } });
	http.get(`${base}/cookies?header`, { headers: { Cookie: 'h=1' } });
	http.get(`${base}/cookies/set?d=4&to=/cookies`);
	http.post(`${base}/note`, `${set.cookies.a[0].value} ${set.cookies.b[0].path}`);
}
