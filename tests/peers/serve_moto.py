"""Moto's server, which says its port, answering one request at a time: its threads look whether a key is there and write it in two
steps, so that two of them may both be told that they created it. What it stands for, Amazon S3, tells one."""

from threading import Lock

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import make_server

moto = DomainDispatcherApplication(create_backend_app)
turn = Lock()


def answer(environ, start_response):
    with turn:
        return list(moto(environ, start_response))


server = make_server("127.0.0.1", 0, answer, threaded=True, request_handler=MotoRequestHandler)
print(server.server_port, flush=True)
server.serve_forever()
