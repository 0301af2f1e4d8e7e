// about: a script that ends the run
import http from 'k6/http';
import exec from 'k6/execution';

export const options = { vus: 1, iterations: 5 };

export default function () {
	http.get(`${__ENV.BASE}/echo?iteration=${__ITER}`);
	if (__ITER === 1) {
		exec.test.abort('enough');
	}
}

export function teardown() {
	http.post(`${__ENV.BASE}/note`, 'teardown');
}
