// about: arrivals that find no virtual user free
// spread: 1
import http from 'k6/http';
import { sleep } from 'k6';

export const options = {
	scenarios: { open: { executor: 'constant-arrival-rate', rate: 10, duration: '1s', preAllocatedVUs: 2, gracefulStop: '1s' } },
	thresholds: { dropped_iterations: ['count>3', 'count<9'] },
};

export default function () {
	http.get(`${__ENV.BASE}/echo`);
	sleep(0.45);
}
