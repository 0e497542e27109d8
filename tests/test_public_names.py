"""An export is a decision: the list is tested against what the package really gives."""

from __future__ import annotations

import inspect
import pkgutil

import rightcall


def test_every_public_name_is_there_and_documented() -> None:
    for name in rightcall.__all__:
        value = getattr(rightcall, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert inspect.getdoc(value), f"{name} has no docstring"


def test_nothing_is_public_by_accident() -> None:
    modules = {module.name for module in pkgutil.iter_modules(rightcall.__path__)}
    found = {name for name in vars(rightcall) if not name.startswith("_")} - modules
    assert found == set(rightcall.__all__)


def test_the_list_is_sorted_so_that_changes_are_easy_to_see() -> None:
    assert rightcall.__all__ == sorted(
        rightcall.__all__, key=lambda name: (not name.isupper(), not name[0].isupper(), name)
    )


def test_no_module_grows_beyond_what_can_be_read_at_once() -> None:
    folder = rightcall.__path__[0]
    too_long = {}
    for module in pkgutil.walk_packages(rightcall.__path__, "rightcall."):
        if module.ispkg:
            continue
        spec = module.module_finder.find_spec(module.name, None)  # type: ignore[call-arg]
        assert spec is not None
        assert spec.origin is not None
        with open(spec.origin, encoding="utf-8") as source:  # noqa: PTH123 - an origin is a string
            lines = sum(1 for _ in source)
        if lines > 500:
            too_long[module.name] = lines
    assert not too_long, f"over 500 lines in {folder}"
