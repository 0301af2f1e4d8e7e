// about: calls of gRPC: messages, metadata, statuses, and each kind of stream
import grpc from 'k6/net/grpc';
import http from 'k6/http';
import { check } from 'k6';

export const options = { vus: 2, iterations: 4 };
const client = new grpc.Client();
client.load(['data'], 'echo.proto');

const note = (text) => http.post(`${__ENV.BASE}/note`, text, { headers: { 'X-Vu': `${__VU}` } });
const metadata = (more) => ({ metadata: Object.assign({ 'x-vu': `${__VU}` }, more), tags: { name: 'once' } });

function said(r) {
	const values = (all, name) => (all[name] === undefined ? 'none' : JSON.stringify(all[name]));
	return [Number(r.status), JSON.stringify(r.message, ['text', 'count', 'more', 'set']), r.error ? Number(r.error.code) + r.error.message : 'no error', values(r.headers, 'kind'), values(r.trailers, 'cost')].join(' ');
}

export default function () {
	client.connect(__ENV.BASE.replace('http://', ''), { plaintext: true, timeout: '5s' });
	const one = client.invoke('echo.Echo/Once', { text: 'grün' }, metadata({ 'x-tag': 'one' }));
	check(one, { 'is there': (r) => r && r.status === grpc.StatusOK && r.message.text === 'grün', 'is another': (r) => r.message.count === 1 });
	note(said(one));
	for (const message of [{}, { count: '9007199254740993' }, { count: -1 }, { more: ['a', ''] }, { set: true }]) { // whose fields may be sent in any order
		note(said(client.invoke('/echo.Echo/Once', message, metadata({}))));
	}
	for (const status of [grpc.StatusInvalidArgument, grpc.StatusNotFound, grpc.StatusUnavailable]) {
		note(said(client.invoke('echo.Echo/Once', { text: 'x' }, metadata({ 'x-status': `${Number(status)}` }))));
	}
	const seen = [];
	const open = (method, texts) => {
		const stream = new grpc.Stream(client, `echo.Echo/${method}`, metadata({ 'x-tag': method }));
		stream.on('data', (message) => seen.push(`${method} ${message.text}`));
		stream.on('error', (e) => seen.push(`${method} error ${Number(e.code)}`));
		texts.forEach((text) => stream.write({ text }));
		stream.end();
		return stream;
	};
	open('Thrice', ['t']).on('end', () => {
		open('Last', ['a', 'b']).on('end', () => {
			open('Each', ['c', 'd']).on('end', () => {
				note(seen.join());
				client.close();
			});
		});
	});
}
