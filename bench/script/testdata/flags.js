// about: flags that replace the script's options
// flags: --vus 1 --iterations 3
import http from 'k6/http';

export const options = { vus: 4, duration: '5s' };

export default function () {
	http.get(`${__ENV.BASE}/echo?vu=${__VU}&iteration=${__ITER}`);
}
