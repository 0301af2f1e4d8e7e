// about: thresholds on metrics of time, which hold
import http from 'k6/http';

export const options = {
	vus: 1, iterations: 3,
	thresholds: {
		http_req_duration: ['p(95)<5000', 'avg < 5000', 'med>=0', 'min>=0', 'max<5000', 'p(99.9)<=5000'],
		iteration_duration: ['max<10000'],
	},
};

export default function () {
	http.get(`${__ENV.BASE}/echo`);
}
