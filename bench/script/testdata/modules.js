// about: modules of one's own, which open files beside them
import http from 'k6/http';
import greet, { text as words, count } from './lib/words.js';
import * as all from './lib/words.js';

export const options = { vus: 1, iterations: 1 };

export default function () {
	http.post(`${__ENV.BASE}/note`, JSON.stringify([greet('ann'), words, count(), count(), Object.keys(all).sort()]));
}
