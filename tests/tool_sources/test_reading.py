"""Tools from every kind of file, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rightcall import Effects, UsageError
from rightcall.schema.compiled import compile_tool
from rightcall.tool_sources.reading import entries, read_tools

OPENAPI = """
openapi: 3.0.3
paths:
  /orders/{id}:
    parameters:
      - {name: id, in: path, required: true, schema: {type: string}, description: The order.}
    get:
      operationId: getOrder
      summary: Reads an order.
      parameters: [{name: limit, in: query, schema: {type: integer, minimum: 0, exclusiveMinimum: true}}]
    put:
      summary: Changes an order.
      requestBody:
        required: true
        content:
          application/json:
            schema: {$ref: '#/components/schemas/Order'}
    delete: {}
components:
  schemas:
    Order:
      type: object
      required: [total]
      properties:
        total: {type: integer}
        note: {type: string, nullable: true}
        parent: {$ref: '#/components/schemas/Order'}
"""


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_openapi_operations_are_tools_that_stand_alone(tmp_path):
    get, put, delete = read_tools(write(tmp_path, "api.yaml", OPENAPI)).tools

    assert (get.name, get.description, get.effects.read_only) == ("getOrder", "Reads an order.", True)
    assert get.parameters["required"] == ["id"]
    assert get.parameters["properties"]["limit"] == {"type": "integer", "exclusiveMinimum": 0}
    assert put.parameters["required"] == ["id", "total"]
    assert put.parameters["properties"]["note"] == {"type": ["string", "null"]}
    assert put.effects == Effects(idempotent=True)
    assert delete.name == "delete_orders_id"
    for tool in (get, put, delete):
        assert compile_tool(tool).broken is None
    assert compile_tool(put).accepts({"id": "1", "total": 1, "parent": {"total": 2, "parent": {"total": 3}}})
    assert not compile_tool(put).accepts({"id": "1", "total": 1, "parent": {"total": "2"}})


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ({"swagger": "2.0"}, "3.0 and 3.1"),
        ({"openapi": "3.1.0", "paths": {}}, "no operations"),
        (
            {"openapi": "3.1.0", "paths": {"/a": {"get": {"parameters": [{"$ref": "https://example.org/p.json"}]}}}},
            "only local ones",
        ),
        (
            {
                "openapi": "3.1.0",
                "paths": {"/a": {"get": {"parameters": [{"name": "p", "schema": {"$ref": "other.yaml#/p"}}]}}},
            },
            "only local ones",
        ),
    ],
)
def test_documents_that_cannot_be_read_alone_are_refused(tmp_path, document, told):
    with pytest.raises(UsageError, match=told):
        read_tools(write(tmp_path, "api.json", json.dumps(document)))


def test_yaml_that_unfolds_without_end_is_refused(tmp_path):
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]

    with pytest.raises(UsageError, match="unfold"):
        read_tools(write(tmp_path, "bomb.yaml", "\n".join(lines)))


MODULE = '''
from __future__ import annotations
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Literal, NotRequired, TypedDict

class Unit(Enum):
    CELSIUS = "celsius"

class Place(TypedDict):
    city: str
    zip: NotRequired[str]

@dataclass
class Span:
    days: int
    hours: int = 0

def weather(place: Place, span: Span | None = None, unit: Unit = Unit.CELSIUS, kind: Literal["a", 1] = "a",
            when: Annotated[str, "ISO date"] = "", tags: list[str] = [], ok: bool = True) -> str:
    """Tell the weather.

    Never the tides.

    Args:
        place: Where it is,
            on two lines.
        ok (bool): Whether: yes.

    Returns:
        Some text.
    """
    return ""

def numpy_style(a: float, b: dict[str, int]):
    """Adds.

    Parameters
    ----------
    a : float
        The first.
    b : dict
        The others.

    Returns
    -------
    float
        The sum.
    """

def rest_style(a: int):
    """Adds.

    :param a: The only one.
    :returns: it
    """

def undocumented(a): ...
def _private(a):
    """Hidden."""
'''


def test_functions_are_tools_with_types_and_texts(tmp_path):
    source = read_tools(write(tmp_path, "tools.py", MODULE))

    assert source.executed
    weather, numpy, rest = source.tools
    assert weather.description == "Tell the weather.\n\nNever the tides."
    assert weather.parameters["required"] == ["place"]
    properties = weather.parameters["properties"]
    assert properties["place"] == {
        "type": "object",
        "properties": {"city": {"type": "string"}, "zip": {"type": "string"}},
        "additionalProperties": False,
        "required": ["city"],
        "description": "Where it is, on two lines.",
    }
    assert properties["span"]["type"] == ["object", "null"]
    assert properties["unit"] == {"type": "string", "enum": ["celsius"]}
    assert properties["kind"] == {"enum": ["a", 1], "default": "a"}
    assert properties["when"] == {"type": "string", "description": "ISO date", "default": ""}
    assert properties["tags"] == {"type": "array", "items": {"type": "string"}, "default": []}
    assert properties["ok"] == {"type": "boolean", "description": "Whether: yes.", "default": True}
    assert (numpy.description, numpy.parameters["properties"]["b"]["description"]) == ("Adds.", "The others.")
    assert (rest.description, rest.parameters["properties"]["a"]["description"]) == ("Adds.", "The only one.")
    assert all(compile_tool(tool).broken is None for tool in source.tools)


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("1/0", "executed and failed: ZeroDivisionError"),
        ("x = 1", "no public functions"),
        ('def f(a: complex):\n    """Does it."""', "f.a: the hint complex cannot be described"),
        ('def f(*args):\n    """Does it."""', "has no schema"),
        ('def f(a: "Missing"):\n    """Does it."""', "hints cannot be read"),
    ],
)
def test_a_module_that_cannot_be_described_says_why(tmp_path, code, told):
    with pytest.raises(UsageError, match=told):
        read_tools(write(tmp_path, "tools.py", code))


def test_hints_of_mcp_become_effects(tmp_path):
    tools = [{"name": "t", "annotations": {"readOnlyHint": True, "destructiveHint": False}}, {"name": "u"}]

    source = read_tools(write(tmp_path, "mcp.json", json.dumps({"result": {"tools": tools}})))

    assert [tool.effects for tool in source.tools] == [Effects(read_only=True, destructive=False), Effects()]
    assert entries(source.document) is source.document["result"]["tools"]


def test_what_is_no_tools_file_says_what_is_one(tmp_path):
    with pytest.raises(UsageError, match="OpenAI tools JSON, an MCP tools/list result, an OpenAPI 3 document"):
        read_tools(write(tmp_path, "tools.json", "no json"))
    with pytest.raises(UsageError, match="cannot be read"):
        read_tools(tmp_path / "none.json")
