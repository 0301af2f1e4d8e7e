// about: the language: newer syntax, promises, timers
import http from 'k6/http';

export const options = { vus: 1, iterations: 1 };

class Counted {
	#n = 0;
	static made = 0;
	get n() { return ++this.#n; }
}

export default async function () {
	const order = [];
	await new Promise((done) => setTimeout(() => { order.push('timer'); done(); }, 20));
	const o = { a: { b: null }, list: [3, 1, 2] };
	const { a, ...rest } = o;
	order.push(o.a?.b?.c ?? 'none', [...'ab'].at(-1), Object.entries(rest).flat(2).join(), new Counted().n, `${2n ** 64n}`, 'a-b'.replaceAll('-', '+'));
	order.push([...(function* () { yield 1; yield 2; })()].length, await Promise.all([1, Promise.resolve(2)]));
	http.post(`${__ENV.BASE}/note`, JSON.stringify(order));
	const later = await http.asyncRequest('GET', `${__ENV.BASE}/echo?async`);
	http.post(`${__ENV.BASE}/note`, `${later.status}`);
}
