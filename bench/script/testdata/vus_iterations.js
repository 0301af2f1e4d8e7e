// about: options vus and iterations
import http from 'k6/http';

export const options = { vus: 2, iterations: 6 };

export default function () {
	http.get(`${__ENV.BASE}/echo`, { headers: { 'X-Any-Order': '1' } });
}
