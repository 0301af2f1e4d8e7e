// about: sockets of the living standard, several side by side
import http from 'k6/http';
import { check } from 'k6';
import { WebSocket } from 'k6/websockets';

export const options = { vus: 2, iterations: 4 };
const headers = { 'X-Vu': `${__VU}`, 'X-Any-Order': '1' };

function open(name, path, protocols) {
	const seen = [];
	const socket = new WebSocket(`${__ENV.BASE.replace('http', 'ws')}${path}`, protocols, { headers: { 'X-Vu': `${__VU}`, 'X-Any-Order': '1', 'X-Tag': name } });
	socket.binaryType = 'arraybuffer';
	socket.addEventListener('open', () => seen.push(`open ${socket.protocol} ${socket.readyState}`));
	socket.addEventListener('message', (e) => seen.push(typeof e.data === 'string' ? e.data : new Uint8Array(e.data).join('+')));
	socket.addEventListener('ping', () => seen.unshift('ping')); // its order beside what is sent after the pong is not determined
	socket.addEventListener('pong', () => seen.push('pong'));
	socket.addEventListener('error', () => seen.push('error'));
	socket.addEventListener('close', (e) => {
		seen.push(`close ${name === 'refused' || e.code} ${e.reason.replace('unexpected EOF', '')} ${socket.readyState}`);
		check(socket, { [`${name} is closed`]: (s) => s.readyState === 3 });
		http.post(`${__ENV.BASE}/note`, `${name} ${seen.join()}`, { headers });
	});
	return socket;
}

export default function () {
	http.get(`${__ENV.BASE}/cookies/set?socket=open`, { headers: { 'X-Vu': `${__VU}` } }); // as each socket does
	const echo = open('echo', '/ws', ['a', 'b']);
	echo.onopen = () => {
		echo.send('one');
		echo.send(new Uint8Array([1, 2]).buffer);
		echo.send(new Uint8Array([3, 4, 5]));
		echo.ping();
	};
	echo.onpong = () => setTimeout(() => echo.close(1000), 10);
	const there = open('closed there', '/ws');
	there.onopen = () => there.send('say goodbye');
	const pinged = open('pinged', '/ws');
	pinged.onopen = () => pinged.send('ping me');
	pinged.onmessage = () => pinged.close(4000, 'enough');
	open('early', '/ws').close();
	if (__VU === 1 && __ITER === 0) { // an iteration without a valid answer
		const broken = open('broken off', '/ws');
		broken.onopen = () => broken.send('break off');
		open('refused', '/ws?refuse=403');
	}
}
