"""Checks the receipt of a published record, or of its absence, with nothing but the key of the publisher's log.

    python verify_receipt.py RECEIPT.json KEY

RECEIPT.json is what `GET /v1/receipts/{record_id}` answers, KEY what `/v1/log/key` shows (name+hash+base64), noted before it was needed.
Needs Python 3.9 and the package `cryptography`. Trees: RFC 9162; signature: C2SP signed-note; canonical JSON: RFC 8785, without numbers.
"""
import base64, hashlib, json, re, sys  # noqa: E401
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


LARGEST = 16 << 20


def sha256(*pieces):
    return hashlib.sha256(b"".join(pieces)).digest()


def canonical(value):
    def without_numbers(item):
        if isinstance(item, (int, float)) and not isinstance(item, bool):
            raise ValueError("a number where texts stand")
        for inner in item.values() if isinstance(item, dict) else item if isinstance(item, list) else ():
            without_numbers(inner)
    without_numbers(value)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode()


def demand(holds, otherwise):
    if not holds:
        raise ValueError(otherwise)


def members(value, names, optional=""):  # exactly these: another format has others
    demand(isinstance(value, dict) and set(names.split()) <= set(value) <= set((names + " " + optional).split()), f"not a receipt of format 1: {names}")


def items(value):
    demand(isinstance(value, list), "a list is missing")
    return value


def once(pairs):  # of a name that is there twice, one would be shown and the other checked
    demand(len(dict(pairs)) == len(pairs), "a name is there twice")
    return dict(pairs)


def whole(text):
    demand(re.fullmatch("0|-?[1-9][0-9]{0,19}", text), "a number that no receipt has")
    return int(text)


def digest(text):
    demand(isinstance(text, str) and re.fullmatch("[0-9a-f]{64}", text), "not a digest")
    return bytes.fromhex(text)


def number(text):
    demand(isinstance(text, str) and re.fullmatch("0|[1-9][0-9]{0,18}", text), "not a number as it is written")
    return int(text)


def root_of_path(leaf, index, leaves, path):  # RFC 9162, 2.1.3.2
    demand(type(index) is int and 0 <= index < leaves, "no such place in the tree")
    node, last, result = index, leaves - 1, leaf
    for other in map(digest, items(path)):
        demand(last > 0, "the path is too long")
        if node & 1 or node == last:
            result = sha256(b"\x01", other, result)
            while not node & 1 and node:
                node, last = node >> 1, last >> 1
        else:
            result = sha256(b"\x01", result, other)
        node, last = node >> 1, last >> 1
    demand(last == 0, "the path is too short")
    return result


def signed_checkpoint(note, key):
    demand(key.count("+") >= 2, "KEY is not a verification key, name+hash+base64")
    name, key_hash, encoded = key.strip().split("+", 2)
    public = base64.b64decode(encoded)
    demand(public[:1] == b"\x01" and sha256(name.encode(), b"\n", public)[:4].hex() == key_hash, "no such key")
    text, signatures = note.rsplit("\n\n", 1)
    lines = signatures.split("\n")
    demand(lines.pop() == "" and all(line.startswith("\u2014 ") for line in lines), "the checkpoint has more than signatures behind its text")
    for line in lines:
        if not line.startswith(f"\u2014 {name} "):
            continue  # of somebody else
        signature = base64.b64decode(line.split(" ", 2)[2], validate=True)
        demand(base64.b64encode(signature).decode() == line.split(" ", 2)[2], "a signature is not as it is written")
        if signature[:4].hex() == key_hash:
            try:
                Ed25519PublicKey.from_public_bytes(public[1:]).verify(signature[4:], (text + "\n").encode())
            except InvalidSignature:
                break
            origin, size, encoded = text.split("\n")[:3]
            demand(origin == name, "the checkpoint is of another log")
            return number(size), base64.b64decode(encoded, validate=True)
    raise ValueError(f"the checkpoint is not signed by {name}")


def absent(wanted, parts, groups):
    """In each group of parts, whose subjects end with as many bytes, those are shown that could have the record, and their neighbours."""
    subject, first = wanted.split(":")[1].encode(), 0
    for group in groups:
        length, behind = number(group["subjects_end_bytes"]), first + number(group["parts"])
        end = subject[max(0, len(subject) - length):]
        run = [(proof["index"], proof["part"].get("subjects_end", "").encode()) for proof in parts if first <= proof["index"] < behind]
        demand(run and [index for index, _ in run] == list(range(run[0][0], run[0][0] + len(run))), "parts are missing")
        demand(all(len(ends) == length for _, ends in run), "a part is in another group")
        demand(run[0][0] == first or run[0][1] < end, "a part before those shown could have the record")
        demand(run[-1][0] == behind - 1 or run[-1][1] > end, "a part behind those shown could have the record")
        first = behind
    for proof in parts:
        part, records = proof["part"], number(proof["part"]["records"])
        around = [(shown["index"], shown["record_id"].encode() > wanted.encode(), shown["record_id"] == wanted) for shown in proof["leaves"]]
        encloses = {
            0: lambda: records == 0 or not subject.endswith(part.get("subjects_end", "").encode()),
            1: lambda: around[0] == (0, True, False) or around[0] == (records - 1, False, False),
            2: lambda: around[0][0] + 1 == around[1][0] and around[0][1:] == (False, False) and around[1][1],
        }
        demand(encloses.get(len(around), lambda: False)(), f"{part['path']} is not shown to lack the record")


def verify(receipt, key):
    paths = "dataset_index dataset_inclusion_proof log_index log_inclusion_proof"
    members(receipt, f"format_version record_id record parts dataset release checkpoint {paths}")
    demand(receipt["format_version"] == 1 and type(receipt["format_version"]) is int, "a receipt of another format")
    members(receipt["dataset"], "dataset_id groups root"), members(receipt["release"], "datasets manifest_sha256 records_root release_id")
    for group in items(receipt["dataset"]["groups"]):
        members(group, "parts subjects_end_bytes")
    for proof in items(receipt["parts"]):
        members(proof, "part index inclusion_proof leaves"), members(proof["part"], "path records root sha256", "subjects_end")
        for shown in items(proof["leaves"]):
            members(shown, "index record_id record_sha256 inclusion_proof")
    size, log_root = signed_checkpoint(receipt["checkpoint"], key)
    release, dataset, wanted = receipt["release"], receipt["dataset"], receipt["record_id"]
    demand(all(wanted.partition(":")) and len(wanted.encode()) <= 512, "not the id of a record")
    leaf = sha256(b"\x00", sha256(canonical(release)))
    demand(root_of_path(leaf, receipt["log_index"], size, receipt["log_inclusion_proof"]) == log_root, "the log does not have this release")
    demand(release["release_id"] == "r" + release["manifest_sha256"][:20], "the release is named otherwise")
    demand(dataset["dataset_id"] == wanted.split(":")[0], "the record belongs to another dataset")
    records_root = root_of_path(sha256(b"\x00", canonical(dataset)), receipt["dataset_index"], number(release["datasets"]), receipt["dataset_inclusion_proof"])
    demand(records_root.hex() == release["records_root"], "the release does not have this dataset")
    parts, record, subject = receipt["parts"], receipt["record"], wanted.split(":")[1]
    for proof in parts:
        path = proof["part"]["path"]
        leaf = sha256(b"\x00", canonical(proof["part"]))
        dataset_root = root_of_path(leaf, proof["index"], sum(number(group["parts"]) for group in dataset["groups"]), proof["inclusion_proof"])
        demand(dataset_root.hex() == dataset["root"], f"the dataset does not have {path} at that index")
        for shown in proof["leaves"]:
            name = shown["record_id"].encode()
            leaf = sha256(b"\x00", len(name).to_bytes(4, "big"), name, digest(shown["record_sha256"]))
            part_root = root_of_path(leaf, shown["index"], number(proof["part"]["records"]), shown["inclusion_proof"])
            demand(part_root.hex() == proof["part"]["root"], f"{path} does not have this record there")
    indexes = [proof["index"] for proof in parts]
    demand(indexes == sorted(set(indexes)), "the parts are not in their order")
    if record is None:
        absent(wanted, parts, dataset["groups"])
    else:
        demand(len(parts) == 1 and len(parts[0]["leaves"]) == 1, "a record is in one part")
        shown = parts[0]["leaves"][0]
        demand(record["record_id"] == shown["record_id"] == wanted, "the record has another record_id than the receipt")
        demand(sha256(canonical(record)).hex() == shown["record_sha256"], "the record is not the one that was sealed")
        demand(subject.endswith(parts[0]["part"].get("subjects_end", "")), "the record is in a part for other subjects")
    return f"{ascii(wanted)} {'is not' if record is None else 'is'} in release {release['release_id']}"


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        with open(sys.argv[1], encoding="utf-8") as file:
            text = file.read(LARGEST + 1)
        demand(len(text) <= LARGEST, "larger than any receipt")
        document = json.loads(text, object_pairs_hook=once, parse_int=whole, parse_constant=whole)
        if isinstance(document, dict) and "data" in document:  # an answer of the API: what stands beside the receipt is not checked
            members(document, "data", "meta")
            document = document["data"]
        print("valid:", verify(document, sys.argv[2]))
    except Exception as error:  # whatever is not as it should be: the receipt proves nothing
        sys.exit(f"not valid: {ascii(str(error))[1:-1] or type(error).__name__}")
