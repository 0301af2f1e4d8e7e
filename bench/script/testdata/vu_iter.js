// about: __VU and __ITER in every phase
import http from 'k6/http';

export const options = { scenarios: { each: { executor: 'per-vu-iterations', vus: 2, iterations: 2 } } };
const atInit = __VU;
const say = (what) => http.post(`${__ENV.BASE}/note`, `${what} ${__VU} ${typeof __ITER === 'undefined' ? 'none' : __ITER} ${atInit}`, { headers: { 'X-Vu': `${__VU}` } });

export function setup() {
	say('setup');
}

export default function () {
	say('default');
}

export function teardown() {
	say('teardown');
}
