# Serves jobs as work.c does, alone: python3 work.py PORT
import mmap
import socketserver
import sys


class Job(socketserver.StreamRequestHandler):
    def handle(self):
        units = self.rfile.readline()
        if units.strip():
            touch(int(units))
            self.wfile.write(b"done\n")


def touch(n):
    memory = mmap.mmap(-1, n * mmap.PAGESIZE)
    for at in range(0, len(memory), mmap.PAGESIZE):
        memory[at] = sum(range(100)) % 251
    memory.close()


socketserver.TCPServer.allow_reuse_address = True
socketserver.TCPServer(("127.0.0.1", int(sys.argv[1])), Job).serve_forever()
