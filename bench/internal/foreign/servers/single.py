"""A server of one thread whose handler takes STEPS steps of integer arithmetic: python3 single.py ADDRESS STEPS"""
import asyncio
import sys

STEPS = int(sys.argv[2])
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Connection(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport, self.received = transport, b""

    def data_received(self, data):
        self.received += data
        while b"\r\n\r\n" in self.received:  # requests have no body
            _, self.received = self.received.split(b"\r\n\r\n", 1)
            x = 1
            for i in range(STEPS):
                x = (x * 31 + i) & 0xFFFF
            self.transport.write(ANSWER)


async def serve():
    host, port = sys.argv[1].split(":")
    await (await asyncio.get_running_loop().create_server(Connection, host, int(port), backlog=1024)).serve_forever()


asyncio.run(serve())
