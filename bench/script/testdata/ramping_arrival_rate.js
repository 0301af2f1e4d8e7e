// about: executor ramping-arrival-rate; its mean rate is 20/s in the first stage and 40/s in the second
// spread: 2
import http from 'k6/http';

export const options = {
	scenarios: {
		open: {
			executor: 'ramping-arrival-rate', startRate: 0, timeUnit: '1s', preAllocatedVUs: 3, maxVUs: 6,
			stages: [{ duration: '1s', target: 40 }, { duration: '500ms', target: 40 }],
		},
	},
};

export default function () {
	http.get(`${__ENV.BASE}/echo`);
}
