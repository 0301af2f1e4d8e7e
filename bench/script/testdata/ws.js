// about: a WebSocket that ws.connect waits for: messages, pings, timers and how it ends
import http from 'k6/http';
import ws from 'k6/ws';
import { check } from 'k6';

export const options = { vus: 2, iterations: 4 };
const base = __ENV.BASE.replace('http', 'ws');

function session(name, path, run) {
	const seen = [];
	const answer = ws.connect(`${base}${path}`, { headers: { 'X-Vu': `${__VU}`, 'X-Tag': name } }, (socket) => {
		socket.on('message', (text) => seen.push(text));
		socket.on('binaryMessage', (data) => seen.push(new Uint8Array(data).join('+')));
		socket.on('ping', () => seen.push('ping'));
		socket.on('pong', () => seen.push('pong'));
		socket.on('error', () => seen.push('error'));
		socket.on('close', (code) => seen.push(code));
		run(socket, seen);
	});
	check(answer, { [`${name} has its status`]: (r) => r.status === (name === 'refused' ? 403 : 101) });
	http.post(`${__ENV.BASE}/note`, `${name} ${answer.status} ${seen.join()}`, { headers: { 'X-Vu': `${__VU}` } });
}

export default function () {
	session('closed here', '/ws', (socket) => {
		socket.on('open', () => socket.send('one'));
		socket.on('message', (text) => {
			if (text === 'one') {
				socket.sendBinary(new Uint8Array([1, 2]).buffer);
			}
		});
		socket.on('binaryMessage', () => socket.ping());
		socket.on('pong', () => socket.setTimeout(() => socket.close(), 20));
	});
	session('closed there', '/ws', (socket) => socket.on('open', () => socket.send('say goodbye')));
	session('pinged', '/ws', (socket, seen) => {
		socket.on('open', () => socket.send('ping me'));
		socket.setInterval(() => seen.includes('ponged p') && socket.close(4000), 5);
	});
	if (__VU === 1 && __ITER === 0) { // an iteration without a valid answer
		session('broken off', '/ws', (socket) => socket.setTimeout(() => socket.send('break off'), 5));
		session('refused', '/ws?refuse=403', () => {});
	}
}
