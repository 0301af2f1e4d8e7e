// about: a form in a page, filled in and sent
import http from 'k6/http';
import { check } from 'k6';

export const options = { vus: 1, iterations: 1 };

const base = __ENV.BASE;

export default function () {
	const page = http.get(`${base}/form`);
	check(page, { title: (r) => r.html('title').text() === 'A form', heading: (r) => r.html().find('h1.big').text() === 'Form' });
	const sent = page.submitForm({ formSelector: 'form', fields: { name: 'ann' } });
	check(sent, { sent: (r) => r.json('form.name.0') === 'ann' && r.json('form.hidden.0') === 'h1' });
	check(page.clickLink({ selector: 'a' }), { away: (r) => r.body === 'arrived' });
}
