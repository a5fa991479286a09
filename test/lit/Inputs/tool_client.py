"""Has the server run a tool on this process's arguments, folder, environment and standard streams; ends as it
does.  It starts in 10 ms, as all that it imports is built in.

usage: tool_client.py SOCKET MODULE ARGUMENT..
"""

import _socket
import marshal
import os
import sys

connection = _socket.socket(_socket.AF_UNIX)
connection.connect(sys.argv[1])
request = marshal.dumps((sys.argv[2:], os.getcwd(), dict(os.environ)))
streams = b"".join(number.to_bytes(4, sys.byteorder) for number in range(3))
size = len(request).to_bytes(8, "little")
connection.sendmsg([size], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
connection.sendall(request)
code = connection.recv(1)
os._exit(code[0] if code else 134)  # no answer: the process of the tool died
