"""Calls written in every public dialect, as the models' own templates write them. For tests of parsing."""

import html
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from rightcall.parsing.dialects.tagged_json import MARKERS

Calls = Sequence[tuple[str, dict]]


@dataclass(frozen=True)
class Writing:
    """One way to write calls: `dialect` is its name in the registry, `write` gives the text of some calls.

    `around` puts text before and after a block; `one_only`: the format has one call a reply; `one_list`: several
    calls are one list, which is cut as a whole. `markers` are what a value may quote without ending anything,
    `prose` are texts about the format that hold no call.
    """

    dialect: str
    variant: str
    write: Callable[[Calls], str]
    markers: tuple[str, ...]
    prose: tuple[str, ...]
    around: Callable[[str, str, str], str] = field(default=lambda before, block, after: f"{before}\n{block}\n{after}")
    one_only: bool = False
    one_list: bool = False
    keeps_after: bool = True

    @property
    def name(self) -> str:
        return f"{self.dialect}-{self.variant}"


def as_json(value):
    return json.dumps(value, ensure_ascii=False)


def as_plain(value):
    """A value in a format where everything is text: strings raw, the rest as JSON."""
    return value if isinstance(value, str) else as_json(value)


def each(write, joiner=""):
    return lambda calls: joiner.join(write(name, arguments) for name, arguments in calls)


def envelopes(calls, arguments="arguments"):
    return [{"name": name, arguments: values} for name, values in calls]


def as_python(value):
    match value:
        case dict():
            return "{" + ", ".join(f"{as_python(key)}: {as_python(item)}" for key, item in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(as_python, value)) + "]"
        case str():
            return json.dumps(value, ensure_ascii=False)
        case _:
            return repr(value)


def expression(name, arguments):
    return f"{name}({', '.join(f'{key}={as_python(item)}' for key, item in arguments.items())})"


# -- marker JSON ------------------------------------------------------------------------------------------------


def tagged(opening, closing):
    def write(calls):
        if opening == "functools[":
            return "functools" + as_json(envelopes(calls))
        return "\n".join(f"{opening}\n{as_json(envelope)}\n{closing}" for envelope in envelopes(calls))

    return write


def tagged_prose(opening, closing):
    return (
        f"Models of this family write `{opening}` before a call and `{closing or ']'}` behind it.",
        f"The `{opening}` marker is explained in the manual.",
    )


TAGGED = [
    Writing(
        "tagged_json",
        opening.strip("<>[]|") or opening,
        tagged(opening, closing),
        tuple(filter(None, (opening, closing, f'{opening}{{"name": "get_time", "arguments": {{}}}}{closing}'))),
        tagged_prose(opening, closing),
        one_list=opening == "functools[",
    )
    for opening, closing in MARKERS.items()
]

# -- Python -----------------------------------------------------------------------------------------------------

PYTHON = [
    Writing(
        "python_tag",
        "call",
        each(lambda name, arguments: "<|python_tag|>" + expression(f"{name}.call", arguments), "; "),
        ("<|python_tag|>", "<|eom_id|>", ')"', "get_time()"),
        ("The `<|python_tag|>` token opens a call.", "A call ends with `<|eom_id|>` in that template."),
    ),
    Writing(
        "python_tag",
        "json",
        lambda calls: "<|python_tag|>" + "; ".join(map(as_json, envelopes(calls, "parameters"))) + "<|eom_id|>",
        ("<|python_tag|>", "<|eom_id|>"),
        ("The `<|python_tag|>` token opens a call.",),
    ),
    Writing(
        "python_tag",
        "list",
        lambda calls: f"<|python_start|>[{', '.join(expression(*call) for call in calls)}]<|python_end|>",
        ("<|python_start|>", "<|python_end|>", ")]"),
        ("Between `<|python_start|>` and `<|python_end|>` stands a list of calls.",),
        one_list=True,
    ),
]

# -- XML --------------------------------------------------------------------------------------------------------


def qwen_coder(name, arguments, tag="tool_call"):
    parameters = "".join(f"<parameter={key}>\n{as_plain(item)}\n</parameter>\n" for key, item in arguments.items())
    return f"<{tag}>\n<function={name}>\n{parameters}</function>\n</{tag}>"


def dsml(calls):
    def parameter(key, value):
        kind = "true" if isinstance(value, str) else "false"
        return f'<｜DSML｜parameter name="{key}" string="{kind}">{as_plain(value)}</｜DSML｜parameter>\n'

    def invoke(name, arguments):
        inside = "".join(parameter(*item) for item in arguments.items())
        return f'<｜DSML｜invoke name="{name}">\n{inside}</｜DSML｜invoke>\n'

    return f"<｜DSML｜function_calls>\n{each(invoke)(calls)}</｜DSML｜function_calls>"


def invokes(opening, closing):
    def invoke(name, arguments):
        inside = "".join(f'<parameter name="{key}">{as_plain(item)}</parameter>\n' for key, item in arguments.items())
        return f'<invoke name="{name}">\n{inside}</invoke>\n'

    return lambda calls: f"{opening}\n{each(invoke)(calls)}{closing}"


SPACE = "]<]minimax[>["


def nested(value):
    """A value as MiniMax M3's template writes it: objects and lists as elements."""
    match value:
        case dict():
            return "".join(f"{SPACE}<{key}>{nested(item)}{SPACE}</{key}>" for key, item in value.items())
        case list():
            return "".join(f"{SPACE}<item>{nested(item)}{SPACE}</item>" for item in value)
        case _:
            return as_plain(value)


def minimax_m3(of_value, break_=""):
    def invoke(name, arguments):
        inside = "".join(f"{SPACE}<{key}>{of_value(item)}{SPACE}</{key}>{break_}" for key, item in arguments.items())
        return f'{SPACE}<invoke name="{name}">{inside}{SPACE}</invoke>{break_}'

    return lambda calls: f"{SPACE}<tool_call>{break_}{each(invoke)(calls)}{SPACE}</tool_call>"


def glm(prefix=""):
    def write(name, arguments):
        inside = "".join(
            f"<{prefix}arg_key>{key}</{prefix}arg_key>\n<{prefix}arg_value>{as_plain(item)}</{prefix}arg_value>\n"
            for key, item in arguments.items()
        )
        return f"<{prefix}tool_call>{name}\n{inside}</{prefix}tool_call>"

    return each(write, "\n")


def element(name, arguments):
    inside = "".join(f"<{key}>{as_plain(item)}</{key}>\n" for key, item in arguments.items())
    return f"<{name}>\n{inside}</{name}>"


XML = [
    Writing(
        "function_xml",
        "qwen3-coder",
        each(qwen_coder, "\n"),
        ("</parameter> in a line", "<parameter=x>", "</function> too", "<tool_call>", "</tool_call> there"),
        (
            "Write `<function=name>` and then `<parameter=key>` for each argument.",
            "The tags are `<tool_call>`, `<function=...>` and `<parameter=...>`, in this order.",
        ),
    ),
    Writing(
        "function_xml",
        "seed",
        each(lambda *call: qwen_coder(*call, "seed:tool_call"), "\n"),
        ("</parameter> in a line", "<seed:tool_call>"),
        ("Seed opens a call with `<seed:tool_call>`.",),
    ),
    Writing(
        "function_xml",
        "llama",
        each(lambda name, arguments: f"<function={name}>{as_json(arguments)}</function>", "\n"),
        ("<function=get_time>{}</function>", "</function>"),
        ("Llama may write `<function=name>` and JSON.",),
    ),
    Writing(
        "invoke_xml",
        "dsml",
        dsml,
        ("<｜DSML｜invoke", "</｜DSML｜parameter> there", "</｜DSML｜function_calls>"),
        ("The DSML format opens with `<｜DSML｜function_calls>`.",),
    ),
    Writing(
        "invoke_xml",
        "minimax-m2",
        invokes("<minimax:tool_call>", "</minimax:tool_call>"),
        ('<invoke name="x">', "</parameter> there", "</minimax:tool_call>"),
        ("MiniMax opens with `<minimax:tool_call>`.",),
    ),
    Writing(
        "invoke_xml",
        "function_calls",
        invokes("<function_calls>", "</function_calls>"),
        ('<invoke name="x">', "</parameter> there", "</invoke> there"),
        ("There is an `<invoke>` element with `<parameter>` elements inside.",),
    ),
    Writing(
        "minimax_m3",
        "minimax-m3",
        minimax_m3(as_plain),
        ("</invoke> there", '<invoke name="get_time">', "</text>", "<tool_call>"),
        ("Every tag has a namespace token in front.", f"The token is `{SPACE}`."),
    ),
    Writing(
        "minimax_m3",
        "minimax-m3-nested",
        minimax_m3(nested, "\n"),
        ("</invoke> there", "<item>", "</tool_call>"),
        (f"Lists are `{SPACE}<item>` elements.",),
    ),
    Writing(
        "glm",
        "glm",
        glm(),
        ("<arg_key>", "</arg_value> there", "<tool_call>get_time", "</tool_call> there"),
        ("GLM writes `<tool_call>name` and then `<arg_key>`.", "An `<arg_value>` follows each `<arg_key>`."),
    ),
    Writing(
        "glm",
        "longcat",
        glm("longcat_"),
        ("<longcat_arg_key>", "</longcat_arg_value> there"),
        ("LongCat writes `<longcat_tool_call>name`.",),
    ),
    Writing(
        "element",
        "cline",
        each(element, "\n"),
        ("<count>", "</count>", "<get_time>", "</save_note> there"),
        (
            "Use the `<save_note>` element for that.",
            "<save_note> takes a text.",
            "<save_note>\nThat element holds a text.\n</save_note>",
        ),
    ),
]

# -- special tokens ---------------------------------------------------------------------------------------------


def harmony(calls):
    return "<|start|>assistant".join(
        f"<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>{as_json(arguments)}<|call|>"
        for name, arguments in calls
    )


def harmony_in_role(calls):
    return "".join(
        f"<|start|>assistant to=functions.{name}<|channel|>commentary json<|message|>{as_json(arguments)}<|call|>"
        for name, arguments in calls
    )


def harmony_around(before, block, after):
    opened = block if block.startswith("<|start|>") else f"<|start|>assistant{block}"
    return (
        f"<|channel|>commentary<|message|>{before}<|end|>{opened}<|start|>assistant<|channel|>final<|message|>{after}"
    )


def deepseek(begin, end):
    def write(calls):
        inside = "\n".join(
            f"<｜tool▁call▁begin｜>{begin(name)}{as_json(arguments)}{end}<｜tool▁call▁end｜>"
            for name, arguments in calls
        )
        return f"<｜tool▁calls▁begin｜>{inside}<｜tool▁calls▁end｜>"

    return write


def kimi_k2(calls):
    inside = "".join(
        f"<|tool_call_begin|>functions.{name}:{index}<|tool_call_argument_begin|>{as_json(arguments)}"
        "<|tool_call_end|>"
        for index, (name, arguments) in enumerate(calls)
    )
    return f"<|tool_calls_section_begin|>{inside}<|tool_calls_section_end|>"


def kimi_k3(calls):
    kinds = {str: "string", int: "number", float: "number", bool: "boolean", list: "array", dict: "object"}

    def argument(key, value):
        kind = kinds.get(type(value), "null")
        return (
            f'<|open|>argument key="{html.escape(key)}" type="{kind}"<|sep|>{as_plain(value)}<|close|>argument<|sep|>'
        )

    inside = "".join(
        f'<|open|>call tool="{name}" index="{index}"<|sep|>'
        + "".join(argument(*item) for item in arguments.items())
        + "<|close|>call<|sep|>"
        for index, (name, arguments) in enumerate(calls)
    )
    return f"<|open|>tools<|sep|>{inside}<|close|>tools<|sep|>"


def gemma(value, quote='<|"|>'):
    match value:
        case str():
            return f"{quote}{value}{quote}"
        case dict():
            return "{" + ",".join(f"{key}:{gemma(item, quote)}" for key, item in value.items()) + "}"
        case list():
            return "[" + ",".join(gemma(item, quote) for item in value) + "]"
        case _:
            return as_json(value)


def cohere(calls):
    return as_json(
        [
            {"tool_call_id": str(index), "tool_name": name, "parameters": arguments}
            for index, (name, arguments) in enumerate(calls)
        ]
    )


def functionary_v2(name, arguments):
    return f"<|from|>assistant\n<|recipient|>{name}\n<|content|>{as_json(arguments)}"


def react(calls):
    ((name, arguments),) = calls
    return f"Action: {name}\nAction Input: {as_json(arguments)}"


TOKENS = [
    Writing(
        "harmony",
        "channel",
        harmony,
        ("<|call|>", "<|end|>", "<|channel|>final<|message|>", "to=functions.get_time"),
        (
            "A header ends with `<|message|>` and names its channel after `<|channel|>`.",
            "The recipient is written as to=functions.name in the header.",
        ),
        harmony_around,
    ),
    Writing(
        "harmony",
        "role",
        harmony_in_role,
        ("<|call|>", "<|start|>assistant", "<|return|>"),
        ("Messages begin with `<|start|>`.",),
        harmony_around,
    ),
    Writing(
        "deepseek",
        "v3",
        deepseek(lambda name: f"function<｜tool▁sep｜>{name}\n```json\n", "\n```"),
        ("<｜tool▁call▁end｜>", "```", "<｜tool▁calls▁end｜>", "<｜tool▁sep｜>"),
        ("The section opens with `<｜tool▁calls▁begin｜>`.",),
    ),
    Writing(
        "deepseek",
        "v3.1",
        deepseek(lambda name: f"{name}<｜tool▁sep｜>", ""),
        ("<｜tool▁call▁end｜>", "<｜tool▁calls▁begin｜>"),
        ("Each call opens with `<｜tool▁call▁begin｜>`.",),
    ),
    Writing(
        "kimi_k2",
        "k2",
        kimi_k2,
        ("<|tool_call_end|>", "<|tool_calls_section_end|>", "<|tool_call_begin|>"),
        ("The section opens with `<|tool_calls_section_begin|>`.",),
    ),
    Writing(
        "kimi_k3",
        "k3",
        kimi_k3,
        ("<|close|>argument<|sep|> there", "<|open|>call", "<|close|>tools<|sep|>"),
        ("The section opens with `<|open|>tools<|sep|>`.",),
    ),
    Writing(
        "mistral",
        "list",
        lambda calls: "[TOOL_CALLS]" + as_json(envelopes(calls)),
        ("[TOOL_CALLS]", "[ARGS]", "]"),
        ("Mistral writes `[TOOL_CALLS]` first.",),
        one_list=True,
    ),
    Writing(
        "mistral",
        "args",
        each(lambda name, arguments: f"[TOOL_CALLS]{name}[ARGS]{as_json(arguments)}"),
        ("[TOOL_CALLS]get_time[ARGS]{}", "[ARGS]"),
        ("Behind `[TOOL_CALLS]` stands the name, then `[ARGS]`.",),
    ),
    Writing(
        "gemma",
        "gemma-4",
        each(lambda name, arguments: f"<|tool_call>call:{name}{gemma(arguments)}<tool_call|>"),
        ("<tool_call|>", "<|tool_call>call:get_time{}", "}", '"'),
        ("Gemma opens with `<|tool_call>`.",),
    ),
    Writing(
        "gemma",
        "function-gemma",
        each(
            lambda name, arguments: (
                f"<start_function_call>call:{name}{gemma(arguments, '<escape>')}<end_function_call>"
            )
        ),
        ("<end_function_call>", "}", "call:get_time{}"),
        ("FunctionGemma opens with `<start_function_call>`.",),
    ),
    Writing(
        "cohere",
        "markers",
        lambda calls: f"<|START_ACTION|>{cohere(calls)}<|END_ACTION|>",
        ("<|END_ACTION|>", "<|START_ACTION|>", "Action:"),
        ("The action stands behind `<|START_ACTION|>`.",),
        one_list=True,
    ),
    Writing(
        "cohere",
        "fence",
        lambda calls: f"Action: ```json\n{cohere(calls)}\n```",
        ("```", "Action:"),
        ("Action: wait for the user.",),
        one_list=True,
    ),
    Writing(
        "qwen_agent",
        "qwen-agent",
        each(lambda name, arguments: f"✿FUNCTION✿: {name}\n✿ARGS✿: {as_json(arguments)}", "\n"),
        ("✿FUNCTION✿: get_time", "✿ARGS✿: {}", "✿RESULT✿"),
        ("The marks are ✿FUNCTION✿ and ✿ARGS✿.", "Behind ✿FUNCTION✿: stands a name."),
    ),
    Writing(
        "functionary",
        "v3",
        each(lambda name, arguments: f">>>{name}\n{as_json(arguments)}"),
        (">>>get_time", ">>>all", "<|stop|>"),
        ("Behind `>>>` stands the recipient.", ">>> get_time\n<function get_time>", ">>>\nget_time"),
    ),
    Writing(
        "functionary",
        "v2",
        each(functionary_v2, "\n"),
        ("<|recipient|>all", "<|stop|>", "<|content|>"),
        ("The recipient stands behind `<|recipient|>`.",),
    ),
    Writing(
        "react",
        "react",
        react,
        ("Action: get_time", "Observation: done", "Final Answer: x"),
        (
            "Action: think about it\nthen answer.",
            "Each step has an Action: and an Action Input: line.",
        ),
        one_only=True,
        keeps_after=False,
    ),
]

WRITINGS = (*TAGGED, *PYTHON, *XML, *TOKENS)
