// about: a script without options
import http from 'k6/http';

export default function () {
	http.get(`${__ENV.BASE}/echo?vu=${__VU}&iteration=${__ITER}`);
}
