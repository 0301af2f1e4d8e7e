// about: which tags of the system what is measured has
import http from 'k6/http';
import { check, group } from 'k6';

export const options = {
	vus: 1, iterations: 2,
	systemTags: ['status', 'group', 'check', 'ip'],
	thresholds: {
		'http_reqs{status:200}': ['count==2'], 'http_reqs{group:::a}': ['count==2'], 'http_reqs{ip:127.0.0.1}': ['count==4'],
		'http_reqs{method:GET}': ['count==0'], 'http_reqs{method:mine}': ['count==2'], 'http_reqs{name:item}': ['count==2'],
		'http_reqs{scenario:default}': ['count==0'], 'checks{check:good}': ['rate==1'], 'http_reqs{expected_response:true}': ['count==0'],
	},
};

export default function () {
	check(http.get(`${__ENV.BASE}/echo`, { tags: { name: 'item' } }), { good: (r) => r.status === 200 });
	group('a', () => http.get(`${__ENV.BASE}/status/404`, { tags: { method: 'mine' } }));
}
