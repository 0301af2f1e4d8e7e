// about: an exception before anything runs
import http from 'k6/http';

throw new Error('in init');

export default function () {
	http.get(`${__ENV.BASE}/echo`);
}
