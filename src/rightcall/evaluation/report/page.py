"""A report as one self-contained page: nothing is loaded from elsewhere, and nothing that a model said is obeyed.

Every text is escaped by the template engine, after what would reorder or hide it is written out. Besides, the
page's own policy allows no source but its one style and its one script, by their hashes: a browser would not run
anything else even if it got in.
"""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files

from rightcall.errors import MissingExtra
from rightcall.evaluation.report import texts
from rightcall.evaluation.report.contents import Report
from rightcall.evaluation.report.page_context import page_context
from rightcall.visible import visible


def html_page(report: Report) -> str:
    """The page.

    Raises:
        MissingExtra: Jinja2 is not installed.
    """
    try:
        from jinja2 import Environment, FunctionLoader, StrictUndefined
        from markupsafe import Markup
    except ImportError as error:
        raise MissingExtra("the report's page", "eval") from error

    environment = Environment(
        loader=FunctionLoader(_template),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: value if isinstance(value, Markup) else visible(value),
    )
    for function in (
        *(texts.percent, texts.points, texts.share_interval, texts.points_interval, texts.amount),
        *(texts.amount_interval, texts.p_value, texts.moment, texts.clip, texts.json_text, texts.calls_text),
        *(texts.wanted_text, texts.settings_text, texts.counted),
    ):
        environment.filters[function.__name__] = function
    style, script = _template("page.css"), _template("page.js")
    # Constants of this package, not data: they stand in the page as they are.
    own = {"style": Markup(style), "script": Markup(script)}  # noqa: S704
    hashes = {"style_hash": _hash(style), "script_hash": _hash(script)}
    return environment.get_template("page.html").render(**page_context(report), **own, **hashes)


def _template(name: str) -> str:
    return files(__package__).joinpath("templates", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
