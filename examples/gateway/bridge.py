"""Writes LoRa frames to the intake of uplink routers, for gateways: one from each line of
standard input, in hexadecimal. Usage: bridge.py HOST PORT GATEWAY. docs/uplink.md has the contract."""
import socket
import sys
import time
import zlib


class Redis:
    def __init__(self, host, port):
        self.stream = socket.create_connection((host, int(port)), timeout=10).makefile("rwb")

    def call(self, *args):
        parts = [a if isinstance(a, bytes) else str(a).encode() for a in args]
        self.stream.write(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts))
        self.stream.flush()
        kind, text = (line := self.stream.readline())[:1], line[1:-2]
        if kind in (b"-", b""):
            sys.exit("Redis: " + (text.decode() or "the connection was lost"))
        return self.stream.read(int(text) + 2)[:-2] if kind == b"$" and text != b"-1" else text


redis, gateway = Redis(*sys.argv[1:3]), sys.argv[3]
redis.call("SET", "ran:partitions", 8, "NX")  # who comes first says how many there are
partitions = int(redis.call("GET", "ran:partitions"))
for line in sys.stdin:
    frame = bytes.fromhex(line)
    stream = "ran:uplinks:%d" % (zlib.crc32(frame) % partitions)  # copies of a frame meet there
    while int(redis.call("XLEN", stream)) >= 1_000_000 // partitions:
        time.sleep(0.1)  # the routers are behind
    redis.call("XADD", stream, "*", "v", 1, "phy", frame, "gw", gateway, "ts", time.time_ns(), "freq", 868_100_000,
               "mod", "lora", "sf", 7, "bw", 125_000, "rssi", -57.5, "snr", 9.25)
