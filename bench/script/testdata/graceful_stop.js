// about: iterations that their scenario's end cuts off, and others for which there is time
import http from 'k6/http';
import exec from 'k6/execution';
import { sleep } from 'k6';

const scenario = (gracefulStop, startTime) => ({ executor: 'constant-vus', vus: 1, duration: '1s', gracefulStop, startTime });
export const options = { scenarios: { cut: scenario('0s', '0s'), waited: scenario('10s', '300ms') } };

export default function () {
	http.get(`${__ENV.BASE}/echo?begins=${exec.scenario.name}`);
	sleep(3);
	http.get(`${__ENV.BASE}/echo?ends=${exec.scenario.name}`);
}
