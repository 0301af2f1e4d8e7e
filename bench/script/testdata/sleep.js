// about: sleep, in seconds and parts of one
import http from 'k6/http';
import { sleep } from 'k6';

export const options = { vus: 1, iterations: 1 };

export default function () {
	const waited = [0.05, 0.2, 0].map((seconds) => {
		const from = Date.now();
		sleep(seconds);
		const ms = Date.now() - from;
		return ms >= 1000 * seconds - 1 && ms < 1000 * seconds + 150;
	});
	http.post(`${__ENV.BASE}/note`, waited.join());
}
