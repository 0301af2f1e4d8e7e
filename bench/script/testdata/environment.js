// about: variables from the command line
// flags: -e WHO=ann -e EMPTY=
import http from 'k6/http';

export const options = { vus: 1, iterations: 1 };

export default function () {
	http.post(`${__ENV.BASE}/note`, JSON.stringify([__ENV.WHO, __ENV.EMPTY, __ENV.ABSENT === undefined]));
}
