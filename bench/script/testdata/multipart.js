// about: files in a form of several parts
import http from 'k6/http';

export const options = { vus: 1, iterations: 1 };

const text = open('./data/text.txt');
const bytes = open('./data/text.txt', 'b');

export default function () {
	http.post(`${__ENV.BASE}/echo`, { field: 'value', file: http.file(text, 'a.txt', 'text/plain'), other: http.file(bytes, 'b.bin') });
}
