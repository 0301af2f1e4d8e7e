// about: which statuses count as failed requests
import http from 'k6/http';

const base = __ENV.BASE;

export const options = {
	vus: 1, iterations: 1,
	thresholds: { 'http_reqs{expected_response:true}': ['count==3'], 'http_reqs{expected_response:false}': ['count==3'], http_req_failed: ['rate==0.5'] },
};

export default function () {
	http.get(`${base}/status/404`);
	http.get(`${base}/status/404`, { responseCallback: http.expectedStatuses(404) });
	http.get(`${base}/status/302`);
	http.setResponseCallback(http.expectedStatuses({ min: 500, max: 503 }, 418));
	http.get(`${base}/status/503`);
	http.get(`${base}/status/200`);
	http.post(`${base}/note`);
}
