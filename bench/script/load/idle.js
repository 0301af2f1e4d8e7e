import { sleep } from 'k6';

export const options = {
	scenarios: { idle: { executor: 'constant-vus', vus: Number(__ENV.VUS), duration: __ENV.DURATION, gracefulStop: '0s' } },
};

export default function () {
	sleep(3600);
}
