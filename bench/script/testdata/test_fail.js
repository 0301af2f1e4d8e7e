// about: a run that the script marks as failed
import http from 'k6/http';
import exec from 'k6/execution';

export const options = { vus: 1, iterations: 3 };

export default function () {
	if (__ITER === 1) exec.test.fail('bad luck');
	http.get(`${__ENV.BASE}/echo?iteration=${__ITER}`);
}
