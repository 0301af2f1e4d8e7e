// about: executor constant-arrival-rate
// spread: 1
import http from 'k6/http';

export const options = {
	scenarios: { open: { executor: 'constant-arrival-rate', rate: 40, timeUnit: '2s', duration: '1s', preAllocatedVUs: 5 } },
	thresholds: { dropped_iterations: ['count<1'] },
};

export default function () {
	http.get(`${__ENV.BASE}/echo`);
}
