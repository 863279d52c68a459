#!/usr/bin/env python3
"""Evaluates rules.yml in a real Prometheus over a week of runs, and prints which alerts fire on which morning.

    mkdir /tmp/week
    PUBDATA_WEEK_DIR=/tmp/week cargo nextest run -E 'test(a_week_of_nights)'   # real runs; writes night-N.prom
    integrations/prometheus/week.py /tmp/week                                  # needs prometheus and promtool

The script serves the metrics of each run in turn to a Prometheus on 127.0.0.1 and moves their timestamps to the present. `for:` is
two seconds instead of minutes; scrapes and evaluations come once a second. Exits with 1 if a morning has other alerts than
expected.
"""

import http.server
import json
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

FOLDER = pathlib.Path(__file__).resolve().parent
DAY = 86400

# Morning, number of the run, seconds since that run, and expected alerts.
MORNINGS = [
    ("28 October: first night", 1, 0, set()),
    ("29 October: a new column", 2, 0, set()),
    ("30 October: quiet", 3, 0, set()),
    ("31 October: a column was renamed", 4, 0, {"PubdataTaskBlocked"}),
    ("1 November: restated, next edition late", 5, 0, {"PubdataEditionLate"}),
    ("2 November: a source is missing", 6, 0, {"PubdataEditionLate"}),
    ("3 November: for the second night", 7, 0, {"PubdataEditionLate", "PubdataSourceMissing"}),
    ("4 November: all is there", 8, 0, set()),
    ("6 November: no run for two days", 8, 2 * DAY, {"PubdataNoRun"}),
    ("6 November, at noon: it ran again", 8, 0, set()),
    ("the server is down", None, 0, {"PubdataServerDown", "PubdataNoNumbers"}),
    ("the server is up again", 8, 0, set()),
]


class Numbers(http.server.BaseHTTPRequestHandler):
    """Serves the metrics of the current run, or 503 without one."""

    night = None
    moved = 0

    def do_GET(self):
        text = self.night
        self.send_response(503 if text is None else 200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        if text is not None:
            self.wfile.write(moved(text, self.moved).encode())

    def log_message(self, *_):
        pass


def moved(text, seconds_since):
    """Returns the metrics with timestamps moved to `seconds_since` seconds ago."""
    at = int(re.match(r"# at (\d+)\n", text).group(1))
    by = time.time() - seconds_since - at

    def line(written):
        name, value = written.rsplit(" ", 1)
        is_instant = not written.startswith("#") and "_timestamp_seconds" in name
        return f"{name} {float(value) + by:.0f}" if is_instant else written

    return "\n".join(line(written) for written in text.splitlines() if not written.startswith("# at")) + "\n"


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def ask(port, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
        return json.load(answer)


def firing(port):
    alerts = ask(port, "/api/v1/alerts")["data"]["alerts"]
    return {alert["labels"]["alertname"] for alert in alerts if alert["state"] == "firing"}


def settled(port, expected):
    """Returns the firing alerts once they match for six checks in a row, or after half a minute."""
    same, fired = 0, set()
    for _ in range(30):
        time.sleep(1)
        fired = firing(port)
        same = same + 1 if fired == expected else 0
        # Long enough for alerts to fire and to resolve.
        if same >= 6:
            break
    return fired


def main():
    nights = pathlib.Path(sys.argv[1])
    texts = {int(path.stem.split("-")[1]): path.read_text() for path in nights.glob("night-*.prom")}
    if sorted(texts) != list(range(1, 9)):
        sys.exit(f"{nights} does not have the eight runs: see the head of this script")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Numbers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    place = pathlib.Path(tempfile.mkdtemp(prefix="pubdata-week-"))
    (place / "rules.yml").write_text(re.sub(r"for: \w+", "for: 2s", (FOLDER / "rules.yml").read_text()))
    target = f"127.0.0.1:{server.server_address[1]}"
    settings = {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(place / "rules.yml")],
        "scrape_configs": [{"job_name": "pubdata", "static_configs": [{"targets": [target]}]}],
    }
    # JSON is YAML.
    (place / "prometheus.yml").write_text(json.dumps(settings))
    port = free_port()
    command = ["prometheus", f"--config.file={place}/prometheus.yml", f"--storage.tsdb.path={place}/data", f"--web.listen-address=127.0.0.1:{port}"]
    Numbers.night = texts[1]
    prometheus = subprocess.Popen(command, stderr=(place / "log").open("w"))
    others = 0
    try:
        for _ in range(60):
            time.sleep(0.5)
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/-/ready", timeout=2).close()
                break
            except OSError:
                if prometheus.poll() is not None:
                    sys.exit(f"prometheus ended: {(place / 'log').read_text()[-2000:]}")
        for morning, night, since, expected in MORNINGS:
            Numbers.night, Numbers.moved = texts.get(night), since
            fired = settled(port, expected)
            others += fired != expected
            verdict = "as expected" if fired == expected else f"expected {sorted(expected) or 'nothing'}"
            print(f"{morning:42} {', '.join(sorted(fired)) or '-':48} {verdict}", flush=True)
    finally:
        prometheus.terminate()
        prometheus.wait()
        shutil.rmtree(place)
    sys.exit(1 if others else 0)


if __name__ == "__main__":
    main()
