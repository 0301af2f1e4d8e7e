// about: calls of gRPC beside the script: one after another, and what rejects a promise
import grpc from 'k6/net/grpc';
import http from 'k6/http';
import { check } from 'k6';

export const options = { vus: 2, iterations: 4 };
const client = new grpc.Client();
client.load(['data'], 'echo.proto');

const note = (text) => http.post(`${__ENV.BASE}/note`, text, { headers: { 'X-Vu': `${__VU}` } });
const params = (more) => ({ metadata: Object.assign({ 'x-vu': `${__VU}` }, more), tags: { name: 'once' } });

export default async function () {
	client.connect(__ENV.BASE.replace('http://', ''), { plaintext: true, timeout: '5s' });
	const one = await client.asyncInvoke('echo.Echo/Once', { text: 'grün' }, params({ 'x-tag': 'one' }));
	check(one, { 'is there': (r) => r && r.status === grpc.StatusOK && r.message.text === 'grün' });
	const no = await client.asyncInvoke('echo.Echo/Once', { text: 'x' }, params({ 'x-status': `${Number(grpc.StatusNotFound)}` }));
	note(`${Number(no.status)} ${Number(no.error.code)}`);
	await client.asyncInvoke('echo.Echo/None', {}).catch(() => note('rejected'));
	client.asyncInvoke('echo.Echo/Once', { text: 'last' }, params({})).then((r) => {
		note(r.message.text);
		client.close();
	});
}
