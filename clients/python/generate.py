"""Writes operations.py and types.py from an OpenAPI document: `generate.py openapi.json`; with `--check` it says whether they are current."""

import json
import keyword
import re
import sys
from pathlib import Path

TARGET = Path(__file__).parent / "src/pubdata"
HEAD = '"""{}; written by generate.py from /v1/openapi.json."""\n\nfrom __future__ import annotations\n\n'
# A listing follows cursors by itself, and answers are JSON: files are had by `Client.download`.
LEFT_OUT = ("cursor", "format", "part")
# Which member of an answer with several lists is the one that has pages.
PAGED_MEMBER = {"Contractor": "permits", "Property": "permits"}


def main(arguments):
    document = json.loads(Path(arguments[-1]).read_text())
    written = {"types.py": types(document), "operations.py": operations(document)}
    stale = [name for name, text in written.items() if not (TARGET / name).exists() or (TARGET / name).read_text() != text]
    if "--check" in arguments:
        sys.exit(f"clients/python: not current: {', '.join(stale)}; run generate.py" if stale else 0)
    for name in stale:
        (TARGET / name).write_text(written[name])


def types(document):
    text = HEAD.format("What is asked and answered")
    text += "from typing import Any, Literal, NotRequired, TypeAlias, TypedDict\n"
    objects, aliases = "", ""
    for name, schema in document["components"]["schemas"].items():
        # Members of any name beside those that are declared cannot be said.
        if isinstance(schema.get("additionalProperties"), dict) and "properties" in schema:
            aliases += f'\n{name}: TypeAlias = "dict[str, Any]"\n'
        elif "properties" in schema:
            objects += typed_dict(name, schema)
        else:
            hint = plain(schema)
            aliases += f"\n{name}: TypeAlias = {hint if hint.startswith('Literal') else json.dumps(hint)}\n"
    return text + aliases + objects


def typed_dict(name, schema):
    required = schema.get("required", [])

    def member(key, value):
        hint = plain(value)
        return hint if key in required else f"NotRequired[{hint}]"

    members = {key: member(key, value) for key, value in schema["properties"].items()}
    said = schema.get("description", "")
    # A key that is a word of Python's takes the form of a call.
    if any(keyword.iskeyword(key) or not key.isidentifier() for key in members):
        pairs = "".join(f'        "{key}": "{hint}",\n' for key, hint in members.items())
        return f'\n\n{name} = TypedDict(\n    "{name}",\n    {{\n{pairs}    }},\n)\n'
    lines = "".join(f"    {key}: {hint}\n" for key, hint in members.items())
    return f"\n\nclass {name}(TypedDict):\n{docstring(said, 4)}{lines}"


def plain(schema):
    if "$ref" in schema:
        return schema["$ref"].rsplit("/", 1)[1]
    if "anyOf" in schema:
        return " | ".join(plain(variant) for variant in schema["anyOf"])
    if "enum" in schema:
        words = [word for word in schema["enum"] if word is not None]
        hint = f"Literal[{', '.join(repr(word) if not isinstance(word, str) else json.dumps(word) for word in words)}]"
        return f"{hint} | None" if None in schema["enum"] else hint
    kinds = schema.get("type", [])
    return " | ".join(of_kind(kind, schema) for kind in ([kinds] if isinstance(kinds, str) else kinds)) or "Any"


def of_kind(kind, schema):
    if kind == "array":
        return f"list[{plain(schema.get('items', {}))}]"
    if kind == "object":
        values = schema.get("additionalProperties")
        return f"dict[str, {plain(values) if isinstance(values, dict) else 'Any'}]"
    return {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}[kind]


def operations(document):
    text = HEAD.format("One method for each operation")
    text += "from typing import Any\n\nfrom . import types\nfrom .answers import Answer, Listing\n\n"
    advice = "".join(f"    {json.dumps(problem['code'])}: {json.dumps(problem['advice'])},\n" for problem in document["x-problems"])
    text += f"# What to do about each problem.\nADVICE = {{\n{advice}}}\n\n\nclass Operations:\n"
    text += '    """The operations of the API; `Client` asks them."""\n\n'
    text += "    def _answer(self, method: str, path: str, values: dict[str, str], query: dict[str, Any], body: Any = None) -> Answer[Any]:\n"
    text += "        raise NotImplementedError\n\n"
    text += "    def _document(self, path: str, values: dict[str, str], query: dict[str, Any]) -> Any:\n"
    text += "        raise NotImplementedError\n\n"
    text += "    def _listing(self, path: str, values: dict[str, str], query: dict[str, Any], records: str | None) -> Listing[Any]:\n"
    text += "        raise NotImplementedError\n"
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            text += operation_text(document, path, method.upper(), operation)
    return text


def operation_text(document, path, method, operation):
    name = re.sub(r"([A-Z])", r"_\1", operation["operationId"]).lower()
    parameters = [parameter for parameter in operation["parameters"] if parameter["name"] not in LEFT_OUT]
    is_paged = any(parameter["name"] == "cursor" for parameter in operation["parameters"])
    of_path = [parameter["name"] for parameter in parameters if parameter["in"] == "path"]
    of_query = [parameter for parameter in parameters if parameter["in"] == "query"]
    body = operation.get("requestBody")
    signature = ["self"] + [f"{safe(word)}: str" for word in of_path]
    if body:
        signature.append(f"body: types.{reference(body['content']['application/json']['schema'])}")
    if of_query:
        signature.append("*")
        signature += [f"{safe(parameter['name'])}: {qualified(parameter['schema'])} | None = None" for parameter in of_query]
    name_of_answer = reference(operation["responses"]["200"]["content"]["application/json"]["schema"])
    members = document["components"]["schemas"][name_of_answer]["properties"]
    # A document of a standard stands alone, and every other answer in an envelope.
    is_document = "data" not in members
    data = name_of_answer if is_document else reference(members["data"])
    kind = "Listing" if is_paged else "Answer"
    returned = f"types.{data}" if is_document else f"{kind}[types.{data}]"
    values = "{" + ", ".join(f'"{word}": {safe(word)}' for word in of_path) + "}"
    query = "{" + ", ".join(f'"{parameter["name"]}": {safe(parameter["name"])}' for parameter in of_query) + "}"
    said = f"{operation['summary']}.\n\n{operation['description']}"
    text = f"\n    def {name}({', '.join(signature)}) -> {returned}:\n{docstring(said, 8)}"
    if is_document:
        return text + f'        return self._document("{path}", {values}, {query})\n'
    if is_paged:
        return text + f'        return self._listing("{path}", {values}, {query}, {paged_member(document, data)})\n'
    return text + f'        return self._answer("{method}", "{path}", {values}, {query}{", body" if body else ""})\n'


def paged_member(document, data):
    schema = document["components"]["schemas"][data]
    if schema["type"] == "array":
        return None
    lists = [name for name, member in schema["properties"].items() if member.get("type") == "array"]
    return json.dumps(PAGED_MEMBER.get(data) or single(lists, data))


def single(lists, data):
    if len(lists) != 1:
        sys.exit(f"which of {lists} of {data} has pages? say so in PAGED_MEMBER")
    return lists[0]


def qualified(schema):
    if "$ref" in schema:
        return f"types.{reference(schema)}"
    if schema.get("type") == "array":
        return f"list[{qualified(schema['items'])}]"
    return plain(schema)


def reference(schema):
    return schema["$ref"].rsplit("/", 1)[1]


def safe(name):
    return f"{name}_" if keyword.iskeyword(name) else name


def docstring(text, indent):
    if not text:
        return ""
    blank = " " * indent
    lines = [f"{blank}{line}".rstrip() for line in text.replace("\\", "\\\\").splitlines()]
    lines[0] = f'{blank}"""{lines[0].strip()}'
    return "\n".join(lines) + (f'\n{blank}"""\n' if len(lines) > 1 else '"""\n')


if __name__ == "__main__":
    main(sys.argv[1:])
