// about: executor ramping-vus
// spread: 3
import http from 'k6/http';
import { sleep } from 'k6';

export const options = {
	scenarios: {
		ramp: {
			executor: 'ramping-vus', startVUs: 1, gracefulRampDown: '1s',
			stages: [{ duration: '500ms', target: 3 }, { duration: '500ms', target: 3 }, { duration: '500ms', target: 0 }],
		},
	},
};

export default function () {
	http.get(`${__ENV.BASE}/echo?vu=${__VU}`);
	sleep(0.2);
}
