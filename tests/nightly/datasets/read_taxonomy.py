"""Reads the files of one taxonomy with another XML parser and prints one JSON object.

usage: read_taxonomy.py PREFIX FILE...
elements  attributes of each global element by its id
labels    texts by element id and role, in English
arcs      [child, parent, weight, role], sorted
"""
import collections
import json
import sys
import xml.etree.ElementTree as tree

XLINK = "{http://www.w3.org/1999/xlink}"
LINK = "{http://www.xbrl.org/2003/linkbase}"
INSTANCE = "{http://www.xbrl.org/2003/instance}"
SCHEMA = "{http://www.w3.org/2001/XMLSchema}"

prefix, files = sys.argv[1], sys.argv[2:]
elements, labels, arcs = {}, collections.defaultdict(dict), []
for path in files:
    root = tree.parse(path).getroot()
    for element in root.findall(SCHEMA + "element"):
        if "substitutionGroup" in element.attrib:
            given = {key.split("}")[-1]: value for key, value in element.attrib.items()}
            elements[element.get("id")] = given
    for link in root.iter():
        if link.tag not in (LINK + "labelLink", LINK + "calculationLink"):
            continue
        located = {loc.get(XLINK + "label"): loc.get(XLINK + "href").split("#")[1] for loc in link.findall(LINK + "loc")}
        resources = collections.defaultdict(list)
        for label in link.findall(LINK + "label"):
            resources[label.get(XLINK + "label")].append((label.get(XLINK + "role").rsplit("/", 1)[1], "".join(label.itertext()).strip()))
        for arc in link.findall(LINK + "labelArc"):
            for role, text in resources[arc.get(XLINK + "to")]:
                labels[located[arc.get(XLINK + "from")]][role] = text
        for arc in link.findall(LINK + "calculationArc"):
            ends = [located[arc.get(XLINK + "to")], located[arc.get(XLINK + "from")]]
            arcs.append(ends + [str(int(float(arc.get("weight")))), link.get(XLINK + "role")])
print(json.dumps({
    "elements": {key: value for key, value in elements.items() if key.startswith(prefix + "_")},
    "labels": {key: value for key, value in labels.items() if key.startswith(prefix + "_")},
    "arcs": sorted(arc for arc in arcs if arc[0].startswith(prefix + "_")),
}))
