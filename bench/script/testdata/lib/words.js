import { suffix } from './suffix.js';

export const text = open('../data/text.txt').trim();
let n = 0;

export function count() {
	n += 1;
	return n;
}

export default (name) => `hello ${name}${suffix}`;
