// about: thresholds on what has a tag; one of them fails
import http from 'k6/http';

export const options = {
	vus: 1, iterations: 2,
	thresholds: {
		'http_req_duration{name:fast}': ['max<5000'],
		'http_req_duration{name:slow}': ['min<50'],
		'http_reqs{name:fast,kind:a}': ['count==2'],
		'http_reqs{status:404}': ['count==2'],
		'http_req_duration{expected_response:true}': ['max<5000'],
		'http_reqs{name:nobody}': ['count==0'],
	},
};

export default function () {
	http.get(`${__ENV.BASE}/echo`, { tags: { name: 'fast', kind: 'a' } });
	http.get(`${__ENV.BASE}/slow?ms=60`, { tags: { name: 'slow' } });
	http.get(`${__ENV.BASE}/status/404`);
}
