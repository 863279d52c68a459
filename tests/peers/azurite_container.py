"""Creates the container for a test: `azurite_container.py PORT ACCOUNT KEY`.

Signed with the account's key. Source: "Authorize with Shared Key", learn.microsoft.com.
"""

import base64
import email.utils
import hashlib
import hmac
import sys
import urllib.request

port, account, key = sys.argv[1:]
headers = {"x-ms-date": email.utils.formatdate(usegmt=True), "x-ms-version": "2021-12-02"}
lines = ["PUT", *[""] * 11, *(f"{name}:{value}" for name, value in headers.items()), f"/{account}/{account}/container", "restype:container"]
signature = base64.b64encode(hmac.new(base64.b64decode(key), "\n".join(lines).encode(), hashlib.sha256).digest()).decode()
url = f"http://127.0.0.1:{port}/{account}/container?restype=container"
headers["Authorization"] = f"SharedKey {account}:{signature}"
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
answer = opener.open(urllib.request.Request(url, method="PUT", headers={**headers, "Content-Length": "0"}))
assert answer.status == 201, answer.status
