// about: a module that nobody has
import http from 'k6/http';
import nothing from 'k6/nothing';

export default function () {
	http.get(`${__ENV.BASE}/echo?${nothing}`);
}
