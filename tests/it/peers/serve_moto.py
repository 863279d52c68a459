"""Moto's server on port `argv[1]`, answering one request at a time: its threads look whether a key is there and write it in two
steps, so that two of them may both be told that they created it. What it stands for, Amazon S3, tells one."""

import sys
from threading import Lock

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import run_simple

moto = DomainDispatcherApplication(create_backend_app)
turn = Lock()


def answer(environ, start_response):
    with turn:
        return list(moto(environ, start_response))


run_simple("127.0.0.1", int(sys.argv[1]), answer, threaded=True, request_handler=MotoRequestHandler)
