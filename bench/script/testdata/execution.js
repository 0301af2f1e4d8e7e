// about: module k6/execution
import http from 'k6/http';
import exec from 'k6/execution';

export const options = { scenarios: { shop: { executor: 'per-vu-iterations', vus: 2, iterations: 2 } } };
const say = (what) => http.post(`${__ENV.BASE}/note`, JSON.stringify(what), { headers: { 'X-Vu': `${__VU}` } });

export function setup() {
	say([exec.vu.idInTest, exec.test.options.scenarios.shop.vus]);
}

export default function () {
	const { vu, scenario, instance } = exec;
	say([vu.idInTest, vu.idInInstance, vu.iterationInScenario, vu.iterationInInstance, scenario.name, scenario.executor,
		scenario.iterationInTest < 4, scenario.progress >= 0, scenario.startTime > 1e12, instance.vusInitialized, typeof instance.currentTestRunDuration]);
}
