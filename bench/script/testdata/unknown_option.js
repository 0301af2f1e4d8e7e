// about: an option that nobody has
import http from 'k6/http';

export const options = { vus: 1, iterations: 2, vusers: 3 };

export default function () {
	http.get(`${__ENV.BASE}/echo`);
}
