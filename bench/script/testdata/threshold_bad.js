// about: a threshold that cannot be read
import http from 'k6/http';

export const options = { thresholds: { http_req_duration: ['p95<500'] } };

export default function () {
	http.get(`${__ENV.BASE}/echo`);
}
