// about: flags that replace the script's scenarios
// flags: --vus 1 --iterations 3
import http from 'k6/http';
import exec from 'k6/execution';

export const options = {
	vus: 2,
	scenarios: {
		one: { executor: 'per-vu-iterations', vus: 2, iterations: 2, exec: 'other', env: { WHO: 'one' } },
		two: { executor: 'shared-iterations', vus: 1, iterations: 1, exec: 'other' },
	},
};

export function other() {
	http.get(`${__ENV.BASE}/other`);
}

export default function () {
	http.get(`${__ENV.BASE}/echo?scenario=${exec.scenario.name}&who=${__ENV.WHO}&iteration=${__ITER}`);
}
