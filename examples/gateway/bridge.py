"""Writes LoRa frames to the intake of uplink routers, for gateways: one from each line of
standard input, in hexadecimal. Usage: bridge.py HOST PORT GATEWAY. docs/uplink.md has the contract."""
import socket
import sys
import time
import zlib


class Redis:
    """One server. It is asked again until it answers: a frame may then be written twice, never lost."""

    def __init__(self, host, port):
        self.address, self.stream = (host, int(port)), None

    def call(self, *args):
        while True:
            try:
                return self.once([a if isinstance(a, bytes) else str(a).encode() for a in args])
            except OSError as why:  # no connection, no answer in time, or one that says: later
                print(why, file=sys.stderr)
                self.stream = None
                time.sleep(1)

    def once(self, parts):
        if self.stream is None:
            self.stream = socket.create_connection(self.address, timeout=10).makefile("rwb")
        self.stream.write(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts))
        self.stream.flush()
        kind, text = (line := self.stream.readline())[:1], line[1:-2]
        if kind == b"-" and not text.startswith((b"LOADING", b"OOM", b"BUSY", b"READONLY", b"MASTERDOWN")):
            sys.exit("Redis: " + text.decode())
        if kind in (b"-", b""):
            raise OSError(text.decode() or "the connection was lost")
        return self.stream.read(int(text) + 2)[:-2] if kind == b"$" and text != b"-1" else text


def sender(frame):
    """The part of a frame that says who sent it: all frames of a device meet in one stream, in their order."""
    first, last = {0: (9, 17), 2: (1, 5), 4: (1, 5), 6: (10, 18) if frame[1:2] == b"\1" else (5, 13)}.get(frame[0] >> 5, (0, 0))
    return frame[first:last] if 12 <= len(frame) >= last > 0 else frame


redis, gateway = Redis(*sys.argv[1:3]), sys.argv[3]
redis.call("SET", "ran:partitions", 8, "NX")  # who comes first says how many there are
partitions = int(redis.call("GET", "ran:partitions"))
for line in filter(None, map(str.strip, sys.stdin)):
    frame, received = bytes.fromhex(line), time.time_ns()
    stream = "ran:uplinks:%d" % (zlib.crc32(sender(frame)) % partitions)
    while int(redis.call("XLEN", stream)) >= 1_000_000 // partitions:
        time.sleep(0.1)  # the routers are behind
    redis.call("XADD", stream, "*", "v", 2, "phy", frame, "gw", gateway, "ts", received, "freq", 868_100_000,
               "mod", "lora", "sf", 7, "bw", 125_000, "rssi", -57.5, "snr", 9.25)
