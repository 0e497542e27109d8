"""Static embeddings: bundled weights and folders in model2vec's form; the index and the fusion over them."""

from __future__ import annotations

import json

import pytest

from rightcall import MissingExtra, UsageError
from rightcall.catalogue.search import Catalogue
from rightcall.domain import Tool
from rightcall.providers import embeddings
from rightcall.providers.embeddings import BUNDLED, load_embedder

np = pytest.importorskip("numpy", reason="the extra `search` is not installed")
pytest.importorskip("tokenizers", reason="the extra `search` is not installed")
save_file = pytest.importorskip("safetensors.numpy", reason="the extra `search` is not installed").save_file

WORDS = ["[UNK]", "money", "cash", "rain", "weather", "send"]
VECTORS = [[9, 9], [1, 0], [0.9, 0.1], [0, 1], [0.1, 0.9], [-1, 0]]


def tokenizer(words=WORDS):
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    made = Tokenizer(WordLevel({word: number for number, word in enumerate(words)}, unk_token="[UNK]"))  # noqa: S106 - a token of text
    made.pre_tokenizer = Whitespace()
    return made


@pytest.fixture
def folder(tmp_path):
    def made(words=WORDS, **tensors):
        tokenizer(words).save(str(tmp_path / "tokenizer.json"))
        given = {"embeddings": np.array(VECTORS, np.float32), **tensors}
        save_file({name: value for name, value in given.items() if value is not None}, tmp_path / "model.safetensors")
        load_embedder.cache_clear()
        return tmp_path

    return made


def test_a_text_is_the_mean_of_its_tokens_at_length_one_and_the_unknown_says_nothing(folder) -> None:
    model = load_embedder(str(folder()))
    made = model.embed(["money rain", "money nonsense", "nonsense", ""])
    assert made.shape == (4, 2)
    assert made[0] == pytest.approx([2**-0.5, 2**-0.5])
    assert made[1] == pytest.approx([1, 0])
    assert not made[2:].any()


def test_weights_and_shared_rows_of_model2vec_are_honoured(folder) -> None:
    weights = np.array([1, 3, 1, 4, 1, 1], np.float32)
    model = load_embedder(str(folder(weights=weights)))
    assert model.embed(["money rain"])[0] == pytest.approx([0.6, 0.8])
    shared = np.array([0, 1, 1, 2, 2, 0], np.int64)
    rows = np.array([[9, 9], [1, 0], [0, 1]], np.float32)
    model = load_embedder(str(folder(embeddings=rows, mapping=shared)))
    assert model.embed(["cash"])[0] == pytest.approx([1, 0])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"embeddings": None, "other": np.zeros((2, 2), np.float32)}, "no table 'embeddings'; it holds other"),
        ({"words": [*WORDS, "more"]}, "7 tokens, 6 vectors"),
        ({"mapping": np.array([0, 1, 2, 3, 4, 99])}, "does not fit its tokenizer"),
        ({"weights": np.ones(2, np.float32)}, "does not fit its tokenizer"),
    ],
)
def test_a_model_that_does_not_hold_together_is_refused(folder, change, words) -> None:
    with pytest.raises(UsageError, match=words):
        load_embedder(str(folder(**change)))


def test_files_that_are_no_model_are_refused_by_name(folder, tmp_path) -> None:
    path = folder()
    (path / "model.safetensors").write_bytes(b"\xff" * 64)
    with pytest.raises(UsageError, match=r"model\.safetensors is no safetensors file"):
        load_embedder(str(path))
    folder()
    (path / "tokenizer.json").write_text(json.dumps({"model": 3}))
    with pytest.raises(UsageError, match=r"tokenizer\.json is no tokenizer"):
        load_embedder(str(path))
    with pytest.raises(UsageError, match="which is no folder; give `bundled`"):
        load_embedder(str(tmp_path / "nowhere"))


def test_without_the_extra_the_message_says_what_to_install(monkeypatch) -> None:
    load_embedder.cache_clear()
    monkeypatch.setattr(embeddings.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(MissingExtra, match=r"pip install 'rightcall\[search\]'"):
        load_embedder(BUNDLED)


def test_the_bundled_weights_know_what_is_near() -> None:
    pytest.importorskip("wordllama", reason="the extra `search` is not installed")
    load_embedder.cache_clear()
    model = load_embedder(BUNDLED)
    rain, weather, invoice = model.embed(["will it rain", "weather forecast", "pay an invoice"])
    assert rain @ weather > rain @ invoice
    assert np.linalg.norm(rain) == pytest.approx(1, abs=1e-5)


TOOLS = (Tool("pay", "cash"), Tool("forecast", "weather"), Tool("post", "send"))


def test_meaning_finds_what_shares_no_word(folder) -> None:
    catalogue = Catalogue(TOOLS, load_embedder(str(folder())))
    assert catalogue.ways == ("fused", "embedded", "lexical")
    assert catalogue.search("rain", 1, "lexical").matches == ()
    assert [tool.name for tool, _ in catalogue.search("rain", 1, "embedded").matches] == ["forecast"]
    assert [tool.name for tool, _ in catalogue.search("rain", 1).matches] == ["forecast"]
    assert catalogue.search("nonsense", 3).matches == ()


def test_fusion_prefers_what_both_rankings_find(folder) -> None:
    catalogue = Catalogue(TOOLS, load_embedder(str(folder())))
    matches = catalogue.search("cash", 3).matches
    assert matches[0][0].name == "pay"
    assert matches[0][1] == pytest.approx(1 / 11 + 0.5 / 11)
    assert matches[1][1] == pytest.approx(1 / 12)


def test_an_empty_catalogue_finds_nothing(folder) -> None:
    assert Catalogue((), load_embedder(str(folder()))).search("cash", 3).matches == ()
