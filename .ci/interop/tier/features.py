"""What the rows `features/…` do with each server: a plan for the client programs, and what they must have seen.

A plan has one entry for each feature, all with `tool` and `arguments` of the call that shows it; besides:
  elicitation, sampling, roots → {text, asked: [message]}
  progress                → {text, progress: [number]}
  cancellation: `after`, a call that tells how the cancelled one ended → {ended, outcome}
  subscription: `uri`, of the resource that the call changes → {updated}
  list_change: `kind` of the list, the name that `appears`, whether the same call must `undo` it → {listed}
A feature that fails has {problem} instead. Tool names get the prefix of the view."""

from dataclasses import dataclass

FEATURES = ("elicitation", "sampling", "roots", "progress", "cancellation", "subscription", "list_change")


@dataclass(frozen=True)
class Feature:
    """One entry of a plan, and what the answer must have."""

    tool: str
    arguments: dict
    extra: dict
    expect: dict


def feature(tool: str, arguments: dict | None = None, expect: dict | None = None, **extra) -> Feature:
    return Feature(tool, arguments or {}, extra, expect or {})


def reference_features(modern_call: bool, label: str) -> dict[str, Feature]:
    """Of the Python SDK's reference servers. `modern_call`: the server is spoken to in the modern era, where its tools
    answer with their questions; those which ask in the middle of a call work in the other."""
    answered = {"text": "Ada" if modern_call else "action=accept"}
    sampled = {"text": "Paris"}
    uri = "test://watched-resource"
    return {
        "elicitation": feature("test_input_required_result_elicitation", expect=answered)
        if modern_call
        else feature("test_elicitation", {"message": "Who are you?"}, answered),
        "sampling": feature("test_input_required_result_sampling", expect=sampled)
        if modern_call
        else feature("test_sampling", {"prompt": "Capital of France?"}, sampled),
        "roots": feature(
            "test_input_required_result_list_roots" if modern_call else "interop_roots",
            expect={"text": "Client exposed 1 root(s)."},
        ),
        "progress": feature("test_tool_with_progress", expect={"progress": [0, 50, 100]}),
        "cancellation": feature(
            "interop_wait",
            {"label": label},
            {"outcome": "cancelled"},
            after={"tool": "interop_outcome", "arguments": {"label": label}},
        ),
        "subscription": feature("interop_touch", {"uri": uri}, uri=uri),
        "list_change": feature(
            "interop_toggle", {"label": label}, kind="tools", appears=f"interop_extra_{label}", undo=True
        ),
    }


def everything_features(label: str) -> dict[str, Feature]:
    """Of the TypeScript SDK's server-everything, as it is published. It does not tell of cancelled calls; the one after
    shows that the session lives on."""
    uri = "demo://resource/dynamic/text/1"
    archive = {"name": f"{label}.gz", "data": "data:text/plain,hello", "outputType": "resourceLink"}
    return {
        "elicitation": feature("trigger-elicitation-request", expect={"text": "Ada"}),
        "sampling": feature("trigger-sampling-request", {"prompt": "Capital?", "maxTokens": 10}, {"text": "Paris"}),
        # It has asked before, right after the handshake.
        "roots": feature("get-roots-list", expect={"text": "file:///interop"}),
        "progress": feature(
            "trigger-long-running-operation",
            {"duration": 0.3, "steps": 3},
            {"progress": [1, 2, 3], "text": "completed"},
        ),
        "cancellation": feature(
            "trigger-long-running-operation",
            {"duration": 20, "steps": 100},
            {"outcome": "Echo: still here"},
            after={"tool": "echo", "arguments": {"message": "still here"}},
        ),
        "subscription": feature("toggle-subscriber-updates", uri=uri),
        "list_change": feature("gzip-file-as-resource", archive, kind="resources", appears=f"{label}.gz", undo=False),
    }


def plan(features: dict[str, Feature], prefix: str) -> dict:
    """As the client programs take it."""

    def entry(one: Feature) -> dict:
        extra = dict(one.extra)
        if after := extra.get("after"):
            extra["after"] = {**after, "tool": prefix + after["tool"]}
        if extra.get("kind") == "tools":
            extra["appears"] = prefix + extra["appears"]
        return {"tool": prefix + one.tool, "arguments": one.arguments, **extra}

    return {name: entry(one) for name, one in features.items()}


def problem(name: str, wanted: Feature, saw: dict | None) -> str | None:
    """Why a feature did not work, or None."""
    if saw is None:
        return "the client did not try it"
    if found := saw.get("problem"):
        return found
    # A server may ask for the roots whenever it likes.
    if name in ("elicitation", "sampling") and len(asked := [one for one in saw["asked"] if one != "roots"]) != 1:
        return f"asked {len(asked)} times, not once: {asked}"
    if saw.get("ended") is False:
        return "the call did not end when it was cancelled"
    for key, expected in wanted.expect.items():
        if not _as_expected(expected, saw[key]):
            return f"{key} is {saw[key]!r}, expected {expected!r}"
    return None


def _as_expected(expected: str | list, saw: str | list) -> bool:
    if isinstance(expected, str):
        return expected in saw
    # The TypeScript SDK may drop a step that arrives right before the answer, also without a gateway.
    return len(saw) >= len(expected) - 1 and saw == expected[: len(saw)]
