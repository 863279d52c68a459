"""Follows /v1/stream with the `websockets` package: reads some messages, disconnects, reconnects with `since_seq`, and prints the messages.

Arguments: URL, key, number of the last event to wait for. A line on standard output marks the end of the first part, so that more events can be
logged in between; a line on standard input marks the end of that.
"""

import asyncio
import json
import sys

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

URL, KEY, LAST = sys.argv[1], sys.argv[2], int(sys.argv[3])


async def take(websocket, until):
    seen = []
    while not seen or seen[-1] < until:
        message = json.loads(await websocket.recv())
        if message["type"] == "filing":
            assert message["data"]["accession_number"], message
            seen.append(message["seq"])
        else:
            assert message["type"] == "heartbeat", message
    return seen


async def begin(websocket, **since):
    welcome = json.loads(await websocket.recv())
    assert welcome["type"] == "welcome", welcome
    await websocket.send(json.dumps({"type": "subscribe", "id": "s", "filters": {"forms": ["8-K"]}, **since}))
    subscribed = json.loads(await websocket.recv())
    assert subscribed["type"] == "subscribed", subscribed
    return welcome


async def main():
    headers = {"Authorization": f"Bearer {KEY}"}
    async with connect(URL, additional_headers=headers) as websocket:
        welcome = await begin(websocket, since_seq=0)
        first = await take(websocket, welcome["seq"])
        websocket.transport.abort()  # As when the network fails.
    print("more", flush=True)
    sys.stdin.readline()
    # Authenticates like a browser, which cannot set headers.
    async with connect(URL) as websocket:
        await websocket.send(json.dumps({"type": "auth", "token": KEY}))
        await begin(websocket, since_seq=first[-1])
        second = await take(websocket, LAST)
        await websocket.send("not JSON")
        try:
            while True:
                await websocket.recv()
        except ConnectionClosed as closed:
            code = closed.rcvd.code
    try:
        async with connect(URL, additional_headers={"X-API-Key": "pd_no_such_key"}):
            status = 101
    except InvalidStatus as refused:
        status = refused.response.status_code
        problem = json.loads(refused.response.body)["code"]
    print(json.dumps({"first": first, "second": second, "code": code, "status": status, "problem": problem}))


asyncio.run(main())
