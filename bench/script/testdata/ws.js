// about: WebSockets by k6/ws: messages, bytes, pings, timers, a goodbye, refusals
import http from 'k6/http';
import ws from 'k6/ws';
import { check } from 'k6';

export const options = { vus: 1, iterations: 1, thresholds: { ws_sessions: ['count==2'], ws_msgs_sent: ['count==4'], 'ws_msgs_received{kind:a}': ['count>=3'] } };
const base = __ENV.BASE.replace('http', 'ws');

export default function () {
	const said = [];
	const answer = ws.connect(`${base}/ws`, { headers: { 'X-Who': 'me' }, tags: { kind: 'a' } }, (socket) => {
		let ticks = 0;
		socket.on('open', () => { said.push('open'); socket.send('one'); });
		socket.on('message', (text) => {
			said.push(text);
			if (text === 'one') socket.sendBinary(new Uint8Array([1, 2, 3]).buffer);
			if (text.startsWith('ponged')) socket.send('say goodbye');
		});
		socket.on('binaryMessage', (data) => { said.push(new Uint8Array(data).join()); socket.ping(); });
		socket.on('pong', () => { said.push('pong'); socket.send('ping me'); });
		socket.on('ping', () => said.push('ping'));
		socket.on('close', (code) => said.push('close', code));
		socket.on('error', (e) => said.push('error', typeof e.error()));
		socket.setInterval(() => { ticks++; }, 1);
		socket.setTimeout(() => socket.close(), 20000);
	});
	check(answer, { 'is open': (r) => r && r.status === 101 });
	const closed = [];
	ws.connect(`${base}/ws`, (socket) => {
		socket.on('open', () => socket.setTimeout(() => socket.close(), 10));
		socket.on('close', (code) => closed.push(code));
	});
	http.post(`${__ENV.BASE}/note`, JSON.stringify([said, answer.status, closed]));
}
