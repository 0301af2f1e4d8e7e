// The load of the published comparison of a queue with a mutex: each iteration connects, calls once, prints the
// reply and closes. docs/scripts.md says what two guards come to under it.
import grpc from 'k6/net/grpc';
import { check } from 'k6';

const client = new grpc.Client();
client.load(['.'], 'counter.proto');

export const options = { vus: 10, duration: '30s' };

export default function () {
  client.connect('localhost:50055', { plaintext: true });
  const response = client.invoke('counter.incrementCounter/increment', { value: 1 });
  check(response, { 'status is OK': (r) => r && r.status === grpc.StatusOK });
  console.log(JSON.stringify(response.message));
  client.close();
}
