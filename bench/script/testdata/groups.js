// about: groups within groups, what they return, and their tag
import http from 'k6/http';
import { check, group } from 'k6';

export const options = {
	vus: 1, iterations: 1,
	thresholds: { 'http_reqs{group:::shop}': ['count==1'], 'http_reqs{group:::shop::cart}': ['count==2'], 'checks{group:::shop::cart}': ['rate==1'] },
};

export default function () {
	const value = group('shop', () => {
		http.get(`${__ENV.BASE}/echo?in=shop`);
		return group('cart', () => {
			const answer = http.get(`${__ENV.BASE}/echo?in=cart`);
			check(answer, { 'in the cart': (r) => r.status === 200 });
			return 7;
		});
	});
	let thrown = '';
	try {
		group('breaks', () => { throw new Error('within'); });
	} catch (e) {
		thrown = e.message;
	}
	group('shop', () => group('cart', () => http.post(`${__ENV.BASE}/note`, JSON.stringify({ value, thrown }))));
}
