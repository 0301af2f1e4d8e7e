// about: option discardResponseBodies
import http from 'k6/http';

export const options = { vus: 1, iterations: 1, discardResponseBodies: true };

export default function () {
	const said = [http.get(`${__ENV.BASE}/redirect/0`).body, http.get(`${__ENV.BASE}/redirect/0`, { responseType: 'text' }).body];
	http.post(`${__ENV.BASE}/note`, JSON.stringify(said));
}
