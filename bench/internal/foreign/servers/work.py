"""A server whose handler takes STEPS steps of integer arithmetic: python3 work.py ADDRESS STEPS"""
import socketserver
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

STEPS = int(sys.argv[2])


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # header and body in one piece

    def do_GET(self):
        x = 1
        for i in range(STEPS):
            x = (x * 31 + i) & 0xFFFF
        self.send_response(200)
        self.send_header("X-Work", "done" if x >= 0 else "zero")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 1024
    daemon_threads = True

    def server_bind(self):
        socketserver.TCPServer.server_bind(self)  # without looking its name up
        self.server_name, self.server_port = self.server_address


host, port = sys.argv[1].split(":")
Server((host, int(port)), Handler).serve_forever()
