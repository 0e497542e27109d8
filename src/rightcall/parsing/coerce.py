"""Arguments fitted to the declared schema: by what is declared, never by how a value looks.

`"12"` becomes 12 where an integer is declared and stays `"12"` where a string is; a value that fits is left
alone; a missing one is never filled in. Source: the coercion and enum rungs of "Making Small Models Reliable
at Tool-Calling", made schema-led through `$ref`, `anyOf`, `oneOf`, `allOf` and `items`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rapidfuzz.distance import Indel

from rightcall.domain import Grade, Note, ProblemKind
from rightcall.parsing.conversions import NOTHING, RawText, converted, decode_raw, plain
from rightcall.parsing.names import fold
from rightcall.parsing.unreadable import Unreadable
from rightcall.schema.references import branches, has_type, own_types, properties, required, resolve
from rightcall.schema.shape import MAX_DEPTH, enum_members, fits, same_json

_INFLECTIONS = ("s", "d", "es", "ed")


@dataclass(frozen=True, slots=True)
class CoercionPolicy:
    """How near an enum member a value must be to be taken for it.

    `enum_cutoff` is a similarity from 0 to 1, `enum_margin` the lead over the runner-up. Whatever the numbers,
    only case, separators and inflections may differ: never the word.
    """

    enum_cutoff: float = 0.85
    enum_margin: float = 0.1


DEFAULT_POLICY = CoercionPolicy()


def coerce(
    value: Any, schema: Mapping[str, Any], policy: CoercionPolicy = DEFAULT_POLICY
) -> tuple[Any, tuple[Note, ...]]:
    """Fits a value to a schema as far as the schema decides.

    Returns the value, and one note for each change. What does not fit is returned as it is: validation says so.

    Raises:
        Unreadable: an argument stands there in two spellings, with two values.
    """
    run = _Coercion(schema, policy)
    fitted = run.fit(value, schema, "", 0)
    return fitted, tuple(run.notes)


@dataclass(slots=True)
class _Coercion:
    root: Mapping[str, Any]
    policy: CoercionPolicy
    notes: list[Note] = field(default_factory=list)

    def fit(self, value: Any, schema: Any, path: str, depth: int) -> Any:
        schema = resolve(schema, self.root)
        if depth > MAX_DEPTH or not isinstance(schema, Mapping) or not schema:
            return plain(value)
        alternatives = branches(schema, self.root)
        if len(alternatives) > 1:
            return self.fit_union(value, alternatives, path, depth)
        schema = alternatives[0]
        if not isinstance(schema, Mapping):
            return plain(value)
        for part in schema.get("allOf", ()) if isinstance(schema.get("allOf"), list) else ():
            value = self.fit(value, part, path, depth + 1)
        value = self.fit_type(value, own_types(schema), path)
        value = self.fit_enum(value, schema, path)
        if isinstance(value, dict):
            return self.fit_object(value, schema, path, depth)
        if isinstance(value, list):
            return self.fit_array(value, schema, path, depth)
        return value

    # -- scalars -----------------------------------------------------------------------------------------

    def fit_type(self, value: Any, allowed: frozenset[str], path: str) -> Any:
        if isinstance(value, RawText):
            return decode_raw(value, allowed)
        if not allowed or has_type(value, allowed):
            return value
        found = converted(value, allowed)
        if found is NOTHING:
            return value
        self.note("type", Grade.TYPED, path, value, found)
        return found

    def fit_enum(self, value: Any, schema: Mapping[str, Any], path: str) -> Any:
        members = enum_members(schema)
        if members is None:
            return value
        if any(same_json(value, member) for member in members):
            return value
        found = self.nearest(value, members)
        if found is NOTHING:
            return value
        grade = Grade.INFERRED if isinstance(found, str) else Grade.TYPED
        self.note("enum", grade, path, value, found)
        return found

    def nearest(self, value: Any, members: list[Any]) -> Any:
        """The one member that a value is a spelling of, or nothing."""
        if not isinstance(value, str):
            written = [member for member in members if isinstance(member, str) and member == _as_text(value)]
            return written[0] if len(written) == 1 else NOTHING
        texts = [member for member in members if isinstance(member, str)]
        unquoted = value.strip().strip("\"'").strip()
        if unquoted in texts:
            return unquoted
        folded = fold(unquoted)
        alike = [member for member in texts if fold(member) == folded] if folded else []
        if alike:
            return alike[0] if len(alike) == 1 else NOTHING
        scored = sorted(((Indel.normalized_similarity(folded, fold(m)), m) for m in texts), reverse=True)
        if not scored or scored[0][0] < self.policy.enum_cutoff:
            return NOTHING
        runner_up = scored[1][0] if len(scored) > 1 else 0.0
        best = scored[0][1]
        if scored[0][0] - runner_up < self.policy.enum_margin or not _inflected(folded, fold(best)):
            return NOTHING
        return best

    # -- containers --------------------------------------------------------------------------------------

    def fit_object(self, value: dict[str, Any], schema: Mapping[str, Any], path: str, depth: int) -> dict[str, Any]:
        declared = properties(schema, self.root)
        needed = required(schema, self.root)
        value = self.fit_keys(value, declared, schema, path)
        extra = schema.get("additionalProperties")
        fitted: dict[str, Any] = {}
        for key, item in value.items():
            here = f"{path}/{_escape(key)}"
            own = declared.get(key, extra if isinstance(extra, Mapping) else {})
            if item is None and key in declared and key not in needed and not self.nullable(own):
                self.note("null_optional", Grade.TYPED, here, None, None)
                continue
            fitted[key] = self.fit(item, own, here, depth + 1)
        return fitted

    def fit_keys(
        self, value: dict[str, Any], declared: Mapping[str, Any], schema: Mapping[str, Any], path: str
    ) -> dict[str, Any]:
        """Gives keys that are spelled otherwise their declared names, where just one is meant and is free."""
        strange = [key for key in value if key not in declared]
        if not strange or not declared or isinstance(schema.get("patternProperties"), Mapping):
            return value
        by_fold: dict[str, list[str]] = {}
        for name in declared:
            by_fold.setdefault(fold(name), []).append(name)
        renamed: dict[str, str] = {}
        spelled = Counter(map(fold, strange))
        for key in strange:
            meant = by_fold.get(fold(key), [])
            if len(meant) == 1 and schema.get("additionalProperties") is not False:
                _refuse_two_values(value, meant[0])
            if len(meant) == 1 and meant[0] not in value and spelled[fold(key)] == 1:
                renamed[key] = meant[0]
        for key, name in renamed.items():
            self.note("key_spelling", Grade.INFERRED, f"{path}/{_escape(name)}", key, name)
        return {renamed.get(key, key): item for key, item in value.items()} if renamed else value

    def fit_array(self, value: list[Any], schema: Mapping[str, Any], path: str, depth: int) -> list[Any]:
        declared = schema.get("prefixItems")
        prefix = declared if isinstance(declared, list) else []
        items = schema.get("items", {})
        return [
            self.fit(item, prefix[index] if index < len(prefix) else items, f"{path}/{index}", depth + 1)
            for index, item in enumerate(value)
        ]

    # -- unions ------------------------------------------------------------------------------------------

    def fit_union(self, value: Any, alternatives: list[Any], path: str, depth: int) -> Any:
        if isinstance(value, RawText):
            allowed = frozenset[str]().union(*(own_types(branch) for branch in alternatives))
            value = decode_raw(value, allowed)
        if any(fits(value, branch, self.root) for branch in alternatives):
            return value
        chosen = [branch for branch in alternatives if self.discriminated(value, branch)]
        outcomes: list[tuple[Any, list[Note]]] = []
        for branch in chosen if len(chosen) == 1 else alternatives:
            trial = _Coercion(self.root, self.policy)
            try:
                fitted = trial.fit(value, branch, path, depth + 1)
            except Unreadable:
                continue
            if fits(fitted, branch, self.root) and not any(same_json(fitted, other) for other, _ in outcomes):
                outcomes.append((fitted, trial.notes))
        if len(outcomes) != 1:
            return value
        fitted, notes = outcomes[0]
        self.notes += notes
        return fitted

    def discriminated(self, value: Any, branch: Any) -> bool:
        """Whether a property with one allowed value (`kind`) picks this branch of a union."""
        if not isinstance(value, Mapping) or not isinstance(branch, Mapping):
            return False
        fixed: dict[str, Any] = {}
        for name, own in properties(branch, self.root).items():
            resolved = resolve(own, self.root)
            members = enum_members(resolved) if isinstance(resolved, Mapping) else None
            if members is not None and len(members) == 1:
                fixed[name] = members[0]
        present = [name for name in fixed if name in value]
        return bool(present) and all(same_json(value[name], fixed[name]) for name in present)

    def nullable(self, schema: Any) -> bool:
        return any(not (own := own_types(branch)) or "null" in own for branch in branches(schema, self.root))

    def note(self, kind: str, grade: Grade, path: str, before: Any, after: Any) -> None:
        self.notes.append(Note(kind, grade, path, before, after))


def _refuse_two_values(value: dict[str, Any], name: str) -> None:
    """Where further arguments are allowed, validation does not see that one stands there twice."""
    spellings = [key for key in value if fold(key) == fold(name)]
    if any(not same_json(value[key], value[spellings[0]]) for key in spellings):
        reason = f"{_listed(spellings)} are spellings of one argument, with different values"
        raise Unreadable(ProblemKind.AMBIGUOUS, reason)


def _listed(names: list[str]) -> str:
    return " and ".join(json.dumps(name, ensure_ascii=False) for name in names)


def _inflected(left: str, right: str) -> bool:
    """Whether two words differ by an ending only, so that they are the same word."""
    shorter, longer = sorted((left, right), key=len)
    return longer.startswith(shorter) and longer[len(shorter) :] in _INFLECTIONS


def _as_text(value: Any) -> str:
    return json.dumps(value) if isinstance(value, bool | int | float) else ""


def _escape(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
