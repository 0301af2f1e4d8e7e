// about: two scenarios with functions, environments and starts of their own
import http from 'k6/http';
import exec from 'k6/execution';

export const options = {
	scenarios: {
		first: { executor: 'per-vu-iterations', vus: 1, iterations: 2, exec: 'browse', env: { WHAT: 'shoes' } },
		second: { executor: 'per-vu-iterations', vus: 1, iterations: 1, exec: 'buy', startTime: '300ms', tags: { kind: 'sale' } },
	},
	thresholds: { 'http_reqs{kind:sale}': ['count==1'], 'http_reqs{scenario:first}': ['count==2'], 'iterations{scenario:first}': ['count==2'] },
};

export function browse() {
	http.get(`${__ENV.BASE}/echo?browse=${__ENV.WHAT}&scenario=${exec.scenario.name}`);
}

export function buy() {
	http.post(`${__ENV.BASE}/echo?scenario=${exec.scenario.name}`, `${__ENV.WHAT}`);
}
