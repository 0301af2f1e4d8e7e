// about: the cookie jar of a virtual user, and another
import http from 'k6/http';

export const options = { vus: 1, iterations: 1 };

const base = __ENV.BASE;

export default function () {
	const jar = http.cookieJar();
	jar.set(base, 'a', '1');
	jar.set(base, 'b', '2', { path: '/cookies', max_age: 600 });
	http.get(`${base}/cookies`);
	http.get(`${base}/echo`);
	const other = new http.CookieJar();
	other.set(base, 'o', '1');
	http.get(`${base}/cookies/set?p=5`, { jar: other });
	http.get(`${base}/cookies`, { jar: other });
	jar.delete(base, 'a');
	http.get(`${base}/cookies`);
	jar.clear(`${base}/cookies`);
	http.get(`${base}/cookies`);
	http.post(`${base}/note`, JSON.stringify([other.cookiesForURL(base).p, jar.cookiesForURL(base)]));
}
