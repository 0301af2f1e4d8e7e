// about: own metrics: what add takes and returns, names, tags
import http from 'k6/http';
import { Counter, Gauge, Rate, Trend } from 'k6/metrics';

const count = new Counter('my_count');
const share = new Rate('my_share');
const last = new Gauge('my_last');
const time = new Trend('my_time', true);
const refused = [];
for (const name of ['a b', 'a-b', '1a', '']) {
	try {
		new Counter(name);
	} catch {
		refused.push(name);
	}
}

export const options = {
	vus: 1, iterations: 1,
	thresholds: {
		my_count: ['count==9'], 'my_count{side:left}': ['count==2'], my_share: ['rate==0.5'], my_last: ['value==1'],
		my_time: ['avg==20', 'p(90)==28', 'p(100)==30'],
	},
};

export default function () {
	const added = [count.add(5), count.add('2'), count.add(2, { side: 'left' }), count.add('x'), count.add(NaN), count.add()];
	share.add(true);
	share.add(0);
	last.add(4);
	last.add(true);
	[10, 20, 30].forEach((v) => time.add(v));
	http.post(`${__ENV.BASE}/note`, JSON.stringify({ added, refused, name: count.name }));
}
