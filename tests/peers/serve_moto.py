"""Runs Moto's server, prints its port, and answers one request at a time. Moto's threads check for a key and write it in two steps, so two of them
could both report that they created it. Amazon S3, which it emulates, reports it to one."""

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
