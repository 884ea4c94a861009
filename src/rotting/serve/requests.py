"""Bodies of requests and replies: one definition that checks what arrives, and describes the API."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, get_type_hints

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from rotting._core.bandit_settings import CHANGEABLE, DEFAULT_POLICY, MOMENTS, SETTINGS, Kind, may_be_empty
from rotting.bandit import ArmReport, Choice, HoldoutReport, LogRow
from rotting.policies._contract.agent import LARGEST_REWARD

LARGEST_BODY = 1 << 20  # bytes
LARGEST_BATCH = 1000  # decisions or events in one request

# Names in addresses, and the header of a request that may be repeated.
BanditName = Annotated[str, Meta(min_length=1, max_length=200, description="The name of a bandit.")]
Decision = Annotated[str, Meta(min_length=1, description="The id of a decision.")]
FlagKey = Annotated[
    str, Meta(pattern="^[A-Za-z0-9._~-]+$", description="The name of a bandit: letters, digits and ._~- only.")
]
RequestKey = Annotated[
    str,
    Meta(
        pattern="^[!-~]{1,200}$",
        description="The same key again gives the same decisions: a new one for each request, repeated on a retry.",
    ),
]

ArmName = Annotated[str, Meta(min_length=1, max_length=200, description="The name of an arm.")]
Fallback = Annotated[
    str, Meta(min_length=1, max_length=200, description="The arm to reply with, without an id, if the database fails.")
]
DecisionId = Annotated[str, Meta(max_length=100, description="The `id` of a decision.")]
RewardValue = Annotated[float, Meta(ge=-LARGEST_REWARD, le=LARGEST_REWARD)]
Share = Annotated[float, Meta(ge=0.0, le=1.0)]
Seconds = Annotated[float, Meta(ge=0.0)]
Count = Annotated[int, Meta(ge=0, le=2**62)]
Limit = Count | dict[ArmName, Count]  # for all arms, or for some
PolicyText = Annotated[str, Meta(max_length=500, description="For example EffFEWA(sigma=0.5).")]


class Body(Struct, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """What a client sends. A field that is not known is a mistake of its author, and refused."""


class Decide(Body):
    """Choose an arm, or `n` times one, of all that are available or of those in `among`."""

    n: Annotated[float, Meta(ge=1, le=LARGEST_BATCH, multiple_of=1)] = 1  # to JSON, 3.0 is a whole number, too
    among: Annotated[list[ArmName], Meta(min_length=1, max_length=LARGEST_BATCH)] | None = None
    fallback: Fallback | None = None


class Reward(Body):
    """The reward of a decision."""

    value: RewardValue


class ShownEvent(Body, tag_field="kind", tag="shown"):
    """A decision was really shown."""

    decision: DecisionId


class RewardEvent(Body, tag_field="kind", tag="reward"):
    """The reward of a decision."""

    decision: DecisionId
    value: RewardValue


Event = ShownEvent | RewardEvent


class Events(Body):
    """Exposures and rewards, independent of each other, in this order. One that is invalid is refused alone."""

    events: Annotated[list[Event], Meta(min_length=1, max_length=LARGEST_BATCH)]


class UncheckedEvents(Body):
    """`Events` as they are read: each is checked by itself, so that an invalid one does not stop the others."""

    events: Annotated[list[msgspec.Raw], Meta(min_length=1, max_length=LARGEST_BATCH)]


_SETTING_TYPES: dict[Kind, Any] = {
    "policy": PolicyText,
    "sigma": Literal["auto"],
    "share": Share,
    "moment": Literal[MOMENTS],
    "seconds": Seconds,
    "period": Seconds,
    "reward": RewardValue,
    "seed": Annotated[int, Meta(ge=0, le=2**63 - 1)],
    "range": tuple[RewardValue, RewardValue] | Literal["any"],
    "arm": ArmName,
    "limit": Limit,
    "experiment": dict[str, Any],
}


_CHANGE_TYPES = _SETTING_TYPES | {"sigma": float | Literal["auto"]}


def _setting(name: str, types: Mapping[Kind, Any] = _SETTING_TYPES) -> Any:
    return Annotated[types[SETTINGS[name].kind], Meta(description=SETTINGS[name].meaning)]


def _change(name: str) -> Any:
    """Return the kind of a change: null switches off what can be switched off."""
    kind = _setting(name, _CHANGE_TYPES) | UnsetType
    return kind | None if may_be_empty(name) else kind


def _struct(name: str, says: str, fields: Iterable[Any], *bases: type[Struct]) -> Any:
    return msgspec.defstruct(name, fields, bases=bases or None, namespace={"__doc__": says}, module=__name__)


NewBandit: Any = _struct(
    "NewBandit",
    "The settings of a bandit, as in `Bandit.open`.",
    [
        ("arms", Annotated[list[ArmName], Meta(min_length=1, max_length=LARGEST_BATCH)]),
        ("policy", _setting("policy"), DEFAULT_POLICY),
        *((name, _setting(name) | None, None) for name in SETTINGS if name != "policy"),  # null is as good as nothing
    ],
    Body,
)
Settings: Any = _struct(
    "Settings",
    "New values of settings, as in `Bandit.change`; null switches off what can be switched off.",
    [(name, _change(name), UNSET) for name in CHANGEABLE],
    Body,
)


class ArmChanges(Body):
    """Arms to add, to retire and to restore, in this order: all changes are made, or none."""

    add: Annotated[list[ArmName], Meta(max_length=LARGEST_BATCH)] = []
    retire: Annotated[list[ArmName], Meta(max_length=LARGEST_BATCH)] = []
    restore: Annotated[list[ArmName], Meta(max_length=LARGEST_BATCH)] = []


class LogQuery(Body):
    """Which events, and how: JSON in pages, or all of the log as CSV or JSON lines."""

    after: Annotated[int, Meta(ge=0, le=2**62, description="Only events after this number.")] | UnsetType = UNSET
    limit: Annotated[int, Meta(ge=1, le=2**31, description="At most so many; as JSON, 1000.")] | UnsetType = UNSET
    format: Annotated[Literal["json", "csv", "jsonl"], Meta(description="JSON in pages, or lines of all.")] = "json"
    replays: (
        Annotated[
            int,
            Meta(ge=1, le=1000, description="As lines: fill in probabilities that were not known, by so many draws."),
        ]
        | UnsetType
    ) = UNSET


class ArmForm(Body):
    """A change of an arm, as the form of a page sends it."""

    action: Literal["add", "retire", "restore"]
    arm: str


class Login(Body):
    """Where to go after logging in."""

    next: str = "/"


class LoginForm(Login):
    """A key to log in with."""

    key: str = ""


class EvaluationContext(Struct, rename="camel"):
    """The context of an OpenFeature evaluation. `flags` names the bandits of a bulk evaluation."""

    targeting_key: Annotated[str, Meta(max_length=1000)] | None = None
    flags: Annotated[list[str], Meta(max_length=100)] | None = None


class Evaluation(Struct):
    """A request of OpenFeature's remote evaluation protocol. Fields that are not known are ignored, as it demands."""

    context: EvaluationContext | None = None


# Replies.

ErrorCode = Literal["PARSE_ERROR", "TARGETING_KEY_MISSING", "INVALID_CONTEXT", "FLAG_NOT_FOUND", "GENERAL"]


class Reply(Struct, kw_only=True):
    """What the service sends."""


class Decisions(Reply):
    """The decisions of one request."""

    decisions: list[Choice]


class Problem(Reply, omit_defaults=True):
    """What went wrong (RFC 9457): `detail` is the text of the Python library, the rest are the fields of its error."""

    type: str
    title: str
    status: int
    detail: str
    name: str | None = None
    expected: str | None = None
    hint: str | None = None


class Result(Reply, omit_defaults=True):
    """What became of an event: `new`, `known` already, or refused with a problem."""

    status: Literal["new", "known", "refused"]
    problem: Problem | None = None


class Results(Reply):
    """One result per event, in their order."""

    results: list[Result]


class Accepted(Reply):
    """Whether a reward was new."""

    new: bool


class Arm(Reply):
    """An arm; `available` is false once it is retired."""

    arm: str
    available: bool


class BanditReply(Reply):
    """A bandit and its settings."""

    bandit: str
    policy: str
    arms: list[Arm]
    events: int
    settings: dict[str, Any]


class Bandits(Reply):
    """The names of all bandits that the key may see."""

    bandits: list[str]


class Report(Reply):
    """How the arms are doing: what `Bandit.report().to_dict()` returns."""

    bandit: str
    policy: str
    estimated_sigma: float | None
    arms: list[ArmReport]
    holdout: Annotated[HoldoutReport | None, Meta(description="What the policy earns more than the holdout.")]


LoggedEvent: Any = _struct("LoggedEvent", "One event of the log.", get_type_hints(LogRow).items())


class LogPage(Reply):
    """Events in order; ask for the rest with `?after=` this `next`, which is null at the end."""

    events: list[LoggedEvent]
    next: int | None


class Health(Reply):
    """Whether the server can do its work."""

    status: Literal["ok", "failing"]


class Evaluated(Reply, omit_defaults=True):
    """An OpenFeature evaluation: value and variant are the arm."""

    key: str
    reason: Literal["SPLIT"]
    variant: str
    value: str
    metadata: dict[str, bool | str | float]


class NotEvaluated(Reply, rename="camel"):
    """Why there is no evaluation."""

    key: str
    error_code: ErrorCode
    error_details: str


_FLAGS = [{"$ref": f"#/components/schemas/{kind.__name__}"} for kind in (Evaluated, NotEvaluated)]


class BulkEvaluated(Reply):
    """The evaluations of several bandits, or why there is none."""

    flags: Annotated[list[Any], Meta(extra_json_schema={"items": {"anyOf": _FLAGS}})]


class EvaluationFailed(Reply, rename="camel"):
    """The server could not evaluate anything."""

    error_details: str


encode = msgspec.json.encode
