"""Reads a captured feed or index of EDGAR with Python's own XML reader, as JSON: filings with forms, filing date, acceptance and parties.

A further argument names a file to which the rows of an index in fixed columns are written in the layout of the master index.
"""

import datetime
import json
import re
import sys
import xml.etree.ElementTree as ElementTree

NAMES = {"a": "http://www.w3.org/2005/Atom", "e": "https://www.sec.gov/Archives/edgar"}


def utc(text):
    return datetime.datetime.fromisoformat(text).astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def add(filings, number, form, filed, accepted, parties):
    filing = filings.setdefault(number, {"forms": [], "filed_date": filed, "accepted_at": accepted, "parties": set()})
    if form not in filing["forms"]:
        filing["forms"].append(form)
    filing["parties"].update(parties)


def atom(root, filings):
    for entry in root.findall("a:entry", NAMES):
        summary = re.sub("<[^>]*>", "", entry.find("a:summary", NAMES).text)
        cik, role = re.search(r"\((\d{10})\) \(([^()]*)\)$", entry.find("a:title", NAMES).text).groups()
        add(
            filings,
            entry.find("a:id", NAMES).text.split("=")[1],
            entry.find("a:category", NAMES).get("term"),
            re.search(r"Filed: (\S+)", summary).group(1),
            utc(entry.find("a:updated", NAMES).text),
            [(cik, role.lower().replace(" ", "_"))],
        )


def rss(root, filings):
    for item in root.findall("channel/item"):
        filing = item.find("e:xbrlFiling", NAMES)
        text = lambda name: filing.findtext(f"e:{name}", None, NAMES)
        # The text of the same instant contains the zone.
        published = item.findtext("pubDate")
        offset = {"EST": "-05:00", "EDT": "-04:00"}[published.rsplit(" ", 1)[1]]
        accepted = datetime.datetime.strptime(text("acceptanceDatetime"), "%Y%m%d%H%M%S").isoformat()
        month, day, year = text("filingDate").split("/")
        role = re.search(r"\(([^()]*)\)$", item.findtext("title")).group(1)
        others = (text("otherCikNumbers") or "").split(",")
        parties = [(text("cikNumber"), role.lower())] + [(cik, None) for cik in others if cik]
        add(filings, text("accessionNumber"), text("formType"), f"{year}-{month}-{day}", utc(accepted + offset), parties)


def index(lines, filings):
    rows = []
    for line in lines:
        name, form, cik, filed, file = line[:62].strip(), line[62:74].strip(), line[74:86].strip(), line[86:98].strip(), line[98:].strip()
        if cik.isdigit() and file.endswith(".txt"):
            rows.append((cik, name, form, filed, file))
    with open(sys.argv[2], "w", encoding="latin-1") as master:
        master.write("Description:           Daily Index of EDGAR Dissemination Feed\n \nCIK|Company Name|Form Type|Date Filed|File Name\n" + "-" * 80 + "\n")
        master.writelines("|".join(row) + "\n" for row in rows)
    for cik, _, form, filed, name in rows:
        add(filings, name.rsplit("/", 1)[1][:-4], form, f"{filed[:4]}-{filed[4:6]}-{filed[6:]}", None, [(cik.zfill(10), None)])


filings = {}
with open(sys.argv[1], "rb") as file:
    content = file.read()
if sys.argv[1].endswith(".idx"):
    index(content.decode("latin-1").splitlines(), filings)
else:
    root = ElementTree.fromstring(content)
    rss(root, filings) if root.tag == "rss" else atom(root, filings)
for filing in filings.values():
    filing["parties"] = sorted(filing["parties"], key=lambda party: (party[0], party[1] or ""))
json.dump(filings, sys.stdout)
