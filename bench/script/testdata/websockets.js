// about: WebSockets by k6/websockets: several at a time, events, states, bytes, subprotocols, a goodbye
import http from 'k6/http';
import { WebSocket } from 'k6/websockets';

export const options = { vus: 1, iterations: 2, thresholds: { ws_sessions: ['count==4'] } };
const base = __ENV.BASE.replace('http', 'ws');

export default function () {
	const said = [];
	let open = 2;
	const done = () => { if (--open === 0) http.post(`${__ENV.BASE}/note`, JSON.stringify(said)); };
	const one = new WebSocket(`${base}/ws`, ['chat', 'talk']);
	one.binaryType = 'arraybuffer';
	said.push(one.readyState);
	one.onopen = () => { said.push(one.readyState, one.url.endsWith('/ws')); one.send('one'); };
	one.onmessage = (e) => {
		if (typeof e.data !== 'string') {
			said.push(new Uint8Array(e.data).join(), e.type);
			one.close(3001, 'enough');
			return;
		}
		said.push(e.data);
		one.send(new Uint8Array([7, 8]).buffer);
	};
	one.onclose = (e) => {
		said.push('closed', one.readyState);
		const two = new WebSocket(`${base}/ws`);
		two.addEventListener('open', () => { two.send('two'); two.send('say goodbye'); });
		two.addEventListener('message', (e) => said.push(e.data));
		two.addEventListener('close', (e) => { said.push(e.code, e.reason); done(); });
		two.addEventListener('error', (e) => said.push('error', typeof e.error));
		done();
	};
}
