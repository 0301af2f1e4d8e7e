import grpc from 'k6/net/grpc';
import { check } from 'k6';

export const options = { vus: 50, duration: __ENV.DURATION };
const client = new grpc.Client();
client.load([__ENV.PROTOS], 'counter.proto');

export default function () {
	client.connect(__ENV.COUNTER, { plaintext: true });
	const answer = client.invoke('counter.incrementCounter/increment', { value: 1 });
	check(answer, { ok: (a) => a && a.status === grpc.StatusOK });
	client.close();
}
