// about: executor shared-iterations, whose iterations go to whoever is free
import http from 'k6/http';

export const options = { scenarios: { all: { executor: 'shared-iterations', vus: 3, iterations: 10, maxDuration: '5s' } } };

export default function () {
	http.get(`${__ENV.BASE}/echo`, { headers: { 'X-Any-Order': '1' } });
}
