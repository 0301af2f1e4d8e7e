// about: a summary of one's own
import http from 'k6/http';
import { check, group } from 'k6';
import { Counter } from 'k6/metrics';

const count = new Counter('my_count');
export const options = { vus: 1, iterations: 2, thresholds: { my_count: ['count<3'], http_reqs: ['count==2'] } };

export function setup() {
	return { from: 'setup' };
}

export default function () {
	group('a group', () => check(http.get(`${__ENV.BASE}/echo`), { yes: true, no: false }));
	count.add(2);
}

export function handleSummary(data) {
	const { my_count, http_reqs, checks, http_req_duration } = data.metrics;
	const said = {
		setup: data.setup_data, count: my_count.values.count, type: my_count.type, contains: http_req_duration.contains,
		thresholds: [my_count.thresholds, http_reqs.thresholds],
		checks: [checks.type, checks.values.rate, checks.values.passes, checks.values.fails],
		trend: Object.keys(http_req_duration.values).sort(),
		group: data.root_group.groups[0].path, check: data.root_group.groups[0].checks.map((c) => [c.name, c.path, c.passes, c.fails]),
		state: typeof data.state.testRunDurationMs,
	};
	return { stdout: `said: ${JSON.stringify(said)}\n`, 'summary.txt': 'a file of the summary\n' };
}
