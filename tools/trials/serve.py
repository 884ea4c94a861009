"""The service starts, answers, serves its page, and ends when it is told to."""

import socket
import subprocess
import sys
import time
import urllib.request

with socket.socket() as found:
    found.bind(("127.0.0.1", 0))
    port = found.getsockname()[1]
command = [sys.executable, "-m", "rotting", "serve", "sqlite:///x.db", "--port", str(port)]
server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
try:
    for _ in range(600):
        assert server.poll() is None, server.communicate()[1]
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=2).close()
            break
        except OSError:
            time.sleep(0.1)
    for path in ("/", "/openapi.json", "/metrics"):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=20) as answer:
            assert answer.status == 200
finally:
    server.terminate()
    server.communicate(timeout=60)
