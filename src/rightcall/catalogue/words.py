"""Text as terms to search by: words of names and of prose made comparable.

Names are split where programmers join words (`get_userInfo2` is get, user, info, 2). English plurals and tenses
lose their endings: step 1 of Porter, "An Algorithm for Suffix Stripping" (1980). Scripts that write no spaces give
pairs of characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

MAX_CHARS = 8000
"""What is read of one text; a tool's name and first sentences stand well within."""

_JOINTS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])")
_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]+"
)
_SHORTEST = 4
_VOWEL = re.compile(r"[aeiou]|[^aeiou]y")
_SHORT = re.compile(r"[^aeiou]*[aeiouy][^aeiouwxy]")
_LEFT_OUT = (  # what stands in every question and request
    "a about an and any are as at be been but by can could did do does for from had has have how i if in into is it"
    " its just me my of on or our please should so some than that the their them then there these this those to us"
    " was we were what when where which who whom why will with would you your"
)
_FUNCTION_WORDS = frozenset(_LEFT_OUT.split())


def terms(text: str) -> list[str]:
    """The terms of a text, in order and with repetitions; function words of English are left out."""
    return [_term(word) for word in _words(text[:MAX_CHARS]) if word not in _FUNCTION_WORDS]


def name_terms(name: str) -> list[str]:
    """The terms of a name: its parts, and the whole of it where it has several, as someone may write it joined."""
    parts = terms(_JOINTS.sub(" ", name[:MAX_CHARS]))
    whole = "".join(_WORD.findall(name[:MAX_CHARS])).casefold()
    return parts if not whole or parts == [whole] else [*parts, whole]


def plain_name(name: str) -> str:
    """A name as words with spaces between them, as a model of language reads it."""
    return " ".join(_WORD.findall(_JOINTS.sub(" ", name[:MAX_CHARS])))


def _words(text: str) -> Iterator[str]:
    for word in _WORD.findall(text):
        if not word.isascii() and _UNSPACED.search(word):
            yield from _pairs(word)
        else:
            yield word.casefold()


def _pairs(word: str) -> Iterator[str]:
    """Pairs of neighbouring characters of unspaced script, and what stands between such runs."""
    end = 0
    for run in _UNSPACED.finditer(word):
        if run.start() > end:
            yield word[end : run.start()].casefold()
        characters, end = run[0], run.end()
        yield from (characters[at : at + 2] for at in range(max(len(characters) - 1, 1)))
    if end < len(word):
        yield word[end:].casefold()


@lru_cache(maxsize=20_000)
def _term(word: str) -> str:
    """A word without the endings of plurals, tenses and participles: step 1 of Porter's stemmer."""
    if len(word) < _SHORTEST or not word.isascii() or not word.isalpha():
        return word
    word = _singular(word)
    for ending in ("ing", "ed"):
        stem = word.removesuffix(ending)
        if stem != word and not word.endswith("eed") and _VOWEL.search(stem):
            word = _restored(stem)
            break
    return word[:-1] + "i" if word.endswith("y") and _VOWEL.search(word[:-1]) else word


def _singular(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _restored(stem: str) -> str:
    """What a tense left of a verb, as the verb is written: `mak` is make, `plann` is plan."""
    if stem.endswith(("at", "bl", "iz")) or _SHORT.fullmatch(stem):
        return stem + "e"
    return stem[:-1] if len(stem) > 1 and stem[-1] == stem[-2] and stem[-1] not in "aeioulsz" else stem
