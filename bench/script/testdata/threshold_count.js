// about: thresholds on counts, shares and values, own metrics too
import http from 'k6/http';
import { check } from 'k6';
import { Counter, Gauge, Rate, Trend } from 'k6/metrics';

const errors = new Counter('my_errors');
const size = new Gauge('my_size');
const good = new Rate('my_good');
const steps = new Trend('my_steps');

export const options = {
	vus: 1, iterations: 4,
	thresholds: {
		http_reqs: ['count==4', 'count>4'], iterations: ['count===4'], checks: ['rate==0.5'],
		my_errors: ['count<8', 'count<=12'], my_size: ['value==3'], my_good: ['rate>0.7', 'rate!=0.8'], my_steps: ['p(50)==25', 'max<41'],
	},
};

export default function () {
	const answer = http.get(`${__ENV.BASE}/echo`);
	check(answer, { yes: (r) => r.status === 200, no: (r) => r.status === 201 });
	errors.add(3);
	size.add(__ITER);
	good.add(__ITER > 0);
	steps.add(10 * (__ITER + 1));
}
