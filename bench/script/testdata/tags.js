// about: names and tags of requests, of the run and of a virtual user
import http from 'k6/http';
import exec from 'k6/execution';

const base = __ENV.BASE;

export const options = {
	vus: 1, iterations: 2,
	tags: { run: 'r1' },
	thresholds: {
		'http_reqs{name:item}': ['count==4'], 'http_reqs{kind:x}': ['count==2'], 'http_reqs{run:r1}': ['count==10'],
		'http_reqs{mine:yes}': ['count==2'], 'http_reqs{method:POST}': ['count==2'], 'http_reqs{name:${}/echo?id=${}}': ['count==2'],
	},
};

export default function () {
	http.get(`${base}/echo?item=1`, { tags: { name: 'item' } });
	http.get(`${base}/echo?item=2`, { tags: { name: 'item', kind: 'x' } });
	http.get(http.url`${base}/echo?id=${__ITER}`);
	http.post(`${base}/echo`, 'a');
	exec.vu.metrics.tags.mine = 'yes';
	http.get(`${base}/echo?mine`);
	delete exec.vu.metrics.tags.mine;
}
