"""A call of a tool that has nothing in common with what was said is refused; whatever may fit is let be."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

from rightcall import Rightcall, ScriptedModel, UsageError
from rightcall.assemble import build_searching
from rightcall.catalogue.relevance import MAX_MESSAGES, RelevanceFloor
from rightcall.domain import ChoiceMode, Family, ModelRequest, Tool, ToolCall, ToolChoice
from rightcall.providers.scripted import calls, text

BMI = Tool(
    "calculate_bmi",
    "Computes the body mass index of a person.",
    {
        "type": "object",
        "properties": {
            "weight": {"type": "number", "description": "In kilograms."},
            "system": {"type": "string", "enum": ["imperial", "metric"]},
            "of": {"type": "object", "properties": {"patientNumber": {"type": "string", "default": "none"}}},
        },
    },
)
CALL = ToolCall("1", "calculate_bmi", {})


def request(*said: str, **more: Any) -> ModelRequest:
    return ModelRequest(tuple({"role": "user", "content": line} for line in said), tools=(BMI,), **more)


@pytest.mark.parametrize("said", ["When did the war in Vietnam end?", "Who wrote Hamlet?", "go to Paris, please"])
def test_a_tool_that_shares_no_word_with_the_request_is_refused(said: str) -> None:
    problem = RelevanceFloor()(CALL, request(said))
    assert problem
    assert (problem.family, problem.tool, problem.call_id) == (Family.SELECTION, "calculate_bmi", "1")
    assert "answer in words" in problem.message


@pytest.mark.parametrize(
    "said",
    [
        "What is my BMI?",  # in the name
        "How many persons fit in?",  # in the description, otherwise inflected
        "I am 80 kilograms",  # in a parameter's description
        "in metric units",  # among closed values
        "my weight, please",  # a parameter's name
        "the patient is tall",  # a name inside an object, split
        "calculateBMI",  # written as one word
    ],
)
def test_one_word_in_common_is_enough_wherever_it_stands(said: str) -> None:
    assert RelevanceFloor()(CALL, request(said)) is None


def test_the_parts_of_a_message_are_texts_of_their_own() -> None:
    parts = [
        {"type": "text", "text": "metric"},
        {"type": "image_url", "image_url": {}},
        {"type": "text", "text": "80"},
    ]
    assert RelevanceFloor()(CALL, ModelRequest(({"role": "user", "content": parts},), tools=(BMI,))) is None


@pytest.mark.parametrize("said", ["", "?!", "what is it", "体重指数是多少", "какой у меня индекс"])
def test_what_says_nothing_or_is_in_another_script_is_not_judged(said: str) -> None:
    assert RelevanceFloor()(CALL, request(said)) is None


def test_latin_letters_with_accents_are_judged() -> None:
    assert RelevanceFloor()(CALL, request("Où est la bibliothèque?"))


@pytest.mark.parametrize("choice", [ToolChoice(ChoiceMode.REQUIRED), ToolChoice(ChoiceMode.NAMED, "calculate_bmi")])
def test_a_call_that_the_client_demands_is_never_refused(choice: ToolChoice) -> None:
    assert RelevanceFloor()(CALL, request("Who wrote Hamlet?", tool_choice=choice)) is None


def test_results_of_tools_count_and_words_of_the_assistant_do_not() -> None:
    asked = {"role": "user", "content": "Who wrote Hamlet?"}
    said = {"role": "assistant", "content": "I can compute a body mass index."}
    result = {"role": "tool", "tool_call_id": "0", "content": "the patient weighs 80 kilograms"}
    assert RelevanceFloor()(CALL, ModelRequest((asked, said), tools=(BMI,)))
    assert RelevanceFloor()(CALL, ModelRequest((asked, said, result), tools=(BMI,))) is None


def test_only_the_end_of_a_long_conversation_is_read() -> None:
    long = ("my weight, please", *(["Who wrote Hamlet?"] * MAX_MESSAGES))
    assert RelevanceFloor()(CALL, request(*long))
    assert RelevanceFloor()(CALL, request(*long[:-1])) is None


def test_a_long_message_hides_neither_what_stands_behind_it_nor_in_its_end() -> None:
    long = "zebra " * 1000
    assert RelevanceFloor()(CALL, request(long, long, "who wrote Hamlet?"))
    assert RelevanceFloor()(CALL, request(long, long, "my weight, please")) is None
    assert RelevanceFloor()(CALL, request(long + long + "my weight, please")) is None


class Facing:
    """Vectors whose cosine is the one given."""

    name = "facing"

    def __init__(self, cosine: float) -> None:
        self._vectors = np.array([[1.0, 0.0], [cosine, (1 - cosine**2) ** 0.5]], np.float32)

    def embed(self, texts):
        assert len(texts) == 2
        return self._vectors


@pytest.mark.parametrize(("cosine", "refused"), [(0.9, False), (0.31, False), (0.29, True), (-0.5, True)])
def test_with_an_embedder_the_meaning_must_be_far_as_well(cosine: float, refused: bool) -> None:
    problem = RelevanceFloor(Facing(cosine))(CALL, request("Who wrote Hamlet?"))
    assert (problem is not None) is refused


def test_real_vectors_keep_a_paraphrase_and_refuse_another_subject() -> None:
    pytest.importorskip("wordllama", reason="needs the extra `search`")
    floor = build_searching(relevance_floor=True, embeddings="bundled").floor
    assert floor
    movies = Tool("find_movies", "Searches for movies.")
    call = ToolCall("1", "find_movies", {})
    films = ModelRequest(({"role": "user", "content": "Films at the cinema tonight"},), tools=(movies,))
    roots = ModelRequest(({"role": "user", "content": "Explain the roots of a quadratic equation"},), tools=(movies,))
    assert RelevanceFloor()(call, films)
    assert floor(call, films) is None
    assert floor(call, roots)


def test_a_model_that_is_told_may_answer_in_words() -> None:
    model = ScriptedModel([calls(("calculate_bmi", {"weight": 80})), text("Shakespeare.")])
    client = Rightcall(model, relevance_floor=True)
    proposal = asyncio.run(client.propose([{"role": "user", "content": "Who wrote Hamlet?"}], [BMI]))
    assert (proposal.status, proposal.text) == ("text", "Shakespeare.")
    asked_again = model.requests[1].messages[-1]["content"]
    assert "nothing in common with the request" in asked_again
    assert "If none of them fits, say so in words" in asked_again


def test_it_is_off_unless_asked_for() -> None:
    client = Rightcall(ScriptedModel([calls(("calculate_bmi", {"weight": 80}))]))
    proposal = asyncio.run(client.propose([{"role": "user", "content": "Who wrote Hamlet?"}], [BMI]))
    assert proposal.status == "calls"


def test_embeddings_that_there_are_not_are_an_error() -> None:
    with pytest.raises(UsageError, match="no folder"):
        build_searching(relevance_floor=True, embeddings="nowhere")
