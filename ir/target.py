"""Targets as values: the kind of machine that code is made for, and the options that say which one."""

from __future__ import annotations

import json
import re
import threading
from typing import Any

from .check import public
from .expr import Const
from .node import NO_ATTRS, Attrs, Node
from .words import call_it, words

# options that hold several words, written with commas in a target's string
LISTS = ("keys", "mattr", "libs")
DEEPEST = 32  # how deep the parts of a target nest
COMPOSITE = "composite"
# the attribute of functions that are compiled by themselves, for another target than their module: the name by which
# the others call them, as functions of a library
EXTERNAL = "external"
# the feature that a processor has where its vectors are so wide, widest first
VECTORS = (("+avx512f", 512), ("+avx", 256))
# the architectures whose processors all add products in one instruction, and the features of those that do elsewhere
FUSING = ("aarch64", "arm64", "powerpc64", "ppc64", "riscv64", "s390x")
FUSED = ("+fma", "+fma4", "+avx512f", "+vfp4")
_KIND = re.compile(r"[\w./-]+")
_OPTION = re.compile(r"[A-Za-z_][\w-]*")
_INT = re.compile(r"-?\d+")
_WORD = re.compile(r"[^\s\"'\\]+")


_active = threading.local()


class _TargetClass(type(Node)):  # type: ignore[misc]
    """The class of Target: `Target("llvm -mcpu=x")` reads the string, and `Target.host()` is this machine.

    The field of the same name is what the instances have.
    """

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and (isinstance(args[0], dict) or not _KIND.fullmatch(str(args[0]))):
            return Target.parse(args[0], **kwargs)
        unknown = next((name for name in kwargs if name not in (*Target.__struct_fields__, "span")), None)
        if unknown is not None:
            option = f"-{unknown.replace('_', '-')}={kwargs[unknown]}"
            kind = args[0] if args else "llvm"
            raise TypeError(
                f"Target() got an unexpected keyword argument {unknown!r}; an option stands in the text: "
                f'`Target("{kind} {option}")`'
            )
        return super().__call__(*args, **kwargs)

    @property
    def host(cls) -> Any:
        """Finds out which machine this is."""
        from .target_host import host_target

        return host_target


class Target(Node, frozen=True, eq=False, metaclass=_TargetClass):
    """`T.target("llvm -mcpu=skylake")`: a kind of machine, what it is also known as, its host and its other options.

    Options keep the order they were given in and are compared without it. A kind or option that nothing here knows is
    kept; `build` refuses it. Inside of `with target:` it is what programs that name no other are for.

    kind:  the name of a kind, with options as `parse` takes them: `Target("llvm -mcpu=haswell")`
    keys:  what it is also known as, such as "cpu"; those of its kind where none are given
    host:  the target of the processor that calls it
    attrs: options by their names: `Attrs({"mcpu": "haswell"})`
    """

    kind: str
    keys: tuple[str, ...] = ()
    host: Target | None = None
    attrs: Attrs = NO_ATTRS

    @staticmethod
    @public
    def parse(spec: str | dict[str, Any] | Target, host: str | dict[str, Any] | Target | None = None) -> Target:
        """The target that a string (`"llvm -mcpu=skylake -num-cores=4"`), a dict (`{"kind": "llvm", ...}`), the JSON of
        one or the name of a machine (`"intel/cascadelake"`, in `ir/target_tags.py`) says.

        Raises ValueError where it says none.
        """
        if isinstance(spec, Target):
            made = spec
        else:
            given = _options_of(spec) if isinstance(spec, str) else spec
            _check_depth(given)
            made = _from_dict(given)
        if host is None:
            return made
        if made.host is not None:
            raise ValueError("the host is given twice")
        return made.replace(host=Target.parse(host))

    @staticmethod
    def composite(**targets: str | dict[str, Any] | Target) -> Target:
        """Several targets by name, one of them the `host`: how a module is built whose functions run in several places.

        A function says by `"target": "accel"` which of them it is for. Raises ValueError where no host is among them.
        """
        return _from_dict({"kind": COMPOSITE, "targets": targets})

    @staticmethod
    def current() -> Target | None:
        """The target of the innermost `with target:` in this thread, None outside."""
        stack = getattr(_active, "stack", None)
        return stack[-1] if stack else None

    def __enter__(self) -> Target:
        if not hasattr(_active, "stack"):
            _active.stack = []
        _active.stack.append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        _active.stack.pop()

    # what it says

    def resolved(self) -> Target:
        """This target with the options of the machine that it names; itself where it names none."""
        from .target_tags import TAGS

        tag = self.attrs.get("tag") if self.kind not in TAGS else self.kind
        known = TAGS.get(tag) if isinstance(tag, str) else None
        if known is None or (self.kind not in TAGS and self.kind != known["kind"]):
            return self
        own = {key: value for key, value in self.attrs.items() if key != "tag"}
        base = {key: value for key, value in known.items() if key not in ("kind", "keys")}
        return self.replace(kind=known["kind"], keys=self.keys or known["keys"], attrs=Attrs({**base, **own}))

    def get(self, option: str, default: Any = None) -> Any:
        """The value of an option, of the machine that the target names too."""
        return self.resolved().attrs.get(option, default)

    @property
    def targets(self) -> dict[str, Target]:
        """The targets of a composite by name; none of any other."""
        return dict(self.attrs.get("targets", NO_ATTRS)) if self.kind == COMPOSITE else {}

    @property
    def main(self) -> Target:
        """What functions are for that name no target: the host of a composite, else the target itself."""
        return self.targets.get("host", self)

    @property
    def cpu(self) -> str | None:
        """The processor by LLVM's name; None where the target does not say."""
        return self.get("mcpu")  # type: ignore[no-any-return]

    @property
    def features(self) -> tuple[str, ...]:
        """The processor's features, as `+avx2`: what is known of its name, then what the target says."""
        from .target_tags import PROCESSORS

        given = tuple(self.get("mattr", ()))
        named = {one[1:] for one in given}
        known = PROCESSORS.get(self.cpu or "", "")
        return (*(f"+{one}" for one in known.split(",") if one and one not in named), *given)

    @property
    def triple(self) -> str | None:
        """Architecture, vendor and system; None where the target does not say."""
        return self.get("mtriple")  # type: ignore[no-any-return]

    @property
    def abi(self) -> str | None:
        """The convention of calls; None where the architecture has but one, or its usual one is meant."""
        return self.get("mabi")  # type: ignore[no-any-return]

    @property
    def vector_bits(self) -> int | None:
        """Bits in the widest vector that loops should use; None where the target does not say."""
        width = self.get("vector-width")
        if width is not None:
            return int(width)
        if self.cpu is None and not self.get("mattr") and self.triple is None:
            return None
        there = self.features
        return next((bits for feature, bits in VECTORS if feature in there), 128)

    @property
    def fuses(self) -> bool | None:
        """Whether an instruction adds a product to something and rounds once; None where the target does not say."""
        if self.cpu is None and not self.get("mattr") and self.triple is None:
            return None
        return (self.triple or "").startswith(FUSING) or any(one in self.features for one in FUSED)

    @property
    def cores(self) -> int | None:
        """How many iterations of a parallel loop run at once; None where the target does not say."""
        return 1 if self.get("threads") == "none" else self.get("num-cores")

    @property
    def caches(self) -> tuple[int | None, ...]:
        """Bytes in the first, the second and the third cache of data; None where the target does not say."""
        return tuple(self.get(f"l{level}-cache") for level in (1, 2, 3))

    @property
    def all_keys(self) -> tuple[str, ...]:
        """What the target is also known as: its own keys, else those of its kind."""
        from .target_kinds import TARGET_KINDS

        kind = TARGET_KINDS.get(self.resolved().kind)
        return self.resolved().keys or (kind.keys if kind is not None else ())

    def options(self) -> dict[str, Any]:
        """The kind, keys and other options as one dict, the host left out."""
        keys = {"keys": self.keys} if self.keys else {}
        attrs: dict[str, Any] = dict(self.attrs)
        if self.kind == COMPOSITE and "targets" in attrs:
            attrs["targets"] = {name: one.as_dict() for name, one in self.targets.items()}
        return {"kind": self.kind, **keys, **attrs}

    def as_dict(self) -> dict[str, Any]:
        """The target and its hosts as the dict that `parse` reads."""
        host = {} if self.host is None else {"host": self.host.as_dict()}
        return {**self.options(), **host}

    def json(self) -> str:
        """The target and its hosts as the JSON that `parse` reads."""
        return json.dumps(self.as_dict())

    def __repr__(self) -> str:
        return f"<Target {self.text() or self.kind}>"

    def text(self) -> str | None:
        """The string that `parse` reads as this target without its host, or None where there is none."""
        parts = [self.kind]
        for name, value in self.options().items():
            if name != "kind":
                word = _word(name, value)
                if word is None:
                    return None
                parts.append(f"-{name}" if value is True else f"-{name}={word}")
        text = " ".join(parts)
        # a dict may hold what the string would say otherwise, such as a number in quotes
        try:
            again = Target.parse(text)
        except ValueError:
            return None
        return text if again == self.replace(host=None) else None


def _word(name: str, value: Any) -> str | None:
    if isinstance(value, (str, bool, int)):
        return str(value)
    if name in LISTS and isinstance(value, tuple) and value and all(isinstance(item, str) for item in value):
        return ",".join(value)
    return None


def _options_of(text: str) -> dict[str, Any]:
    if text.lstrip().startswith("{"):
        try:
            read = json.loads(text)
        except (ValueError, RecursionError):
            raise ValueError(f"this is no JSON of a target: {text[:60]!r}") from None
        return read  # type: ignore[no-any-return]
    kind, *options = text.split() or [""]
    if not _KIND.fullmatch(kind) or kind.startswith("-"):
        raise ValueError(f"a target begins with its kind, such as llvm, not {kind!r}")
    found: dict[str, Any] = {"kind": kind}
    for before, word in zip([kind, *options], options, strict=False):
        name, given, value = word.lstrip("-").partition("=")
        if not word.startswith("-") or not _OPTION.fullmatch(name) or (given and not _WORD.fullmatch(value)):
            meant = f"; did you mean `{before}={word}`?" if before.startswith("-") and "=" not in before else ""
            raise ValueError(f"an option of a target is written -name=value, not {word!r}{meant}")
        if name in found:
            raise ValueError(f"the option {name!r} is given twice")
        found[name] = _value(name, value) if given else True
    return found


def _value(name: str, text: str) -> Any:
    if name in LISTS:
        return tuple(text.split(","))
    if not _INT.fullmatch(text):
        return text
    if len(text) > 20:
        raise ValueError(f"the option {name!r} of a target is too large: {text[:20]}...")
    return int(text)


def _check_depth(given: Any) -> None:
    """Refuse what nests too deep, as a dict that holds itself does."""
    level = [given]
    for _ in range(DEEPEST):
        level = [
            item
            for one in {id(one): one for one in level}.values()
            if isinstance(one, (dict, list, tuple))
            for item in (one.values() if isinstance(one, dict) else one)
        ]
        if not level:
            return
    raise ValueError(f"what says the target holds itself, or nests more than {DEEPEST} deep")


def _from_dict(given: dict[str, Any]) -> Target:
    options = dict(given)
    named = "kind" if "kind" in options else "tag"  # TVM's for a machine by its name
    kind, host, keys = options.pop(named, None), options.pop("host", None), options.pop("keys", ())
    if not isinstance(kind, str) or not _KIND.fullmatch(kind):
        raise ValueError('a target names its kind, as in {"kind": "llvm"}')
    if isinstance(keys, str) or not isinstance(keys, (tuple, list)) or not all(isinstance(key, str) for key in keys):
        raise ValueError("the keys of a target are a list of strings")
    for key in (*keys, *map(str, options)):
        _readable("a word of a target", key)
    inner = options.pop("targets", None) if kind == COMPOSITE else None
    attrs = {str(name): _plain(str(name), value) for name, value in options.items()}
    if inner is not None:
        attrs["targets"] = _inner(inner)
    return Target(kind, tuple(keys), None if host is None else Target.parse(host), Attrs(attrs) if attrs else NO_ATTRS)


def _inner(given: Any) -> Attrs:
    """The targets of a composite by name."""
    if not isinstance(given, dict) or not all(isinstance(name, str) and name.isidentifier() for name in given):
        raise ValueError("the targets of a composite are a dict by name")
    if "host" not in given:
        raise ValueError("a composite target has a `host`, which runs what names no other")
    made = Attrs({name: Target.parse(one) for name, one in given.items()})
    if any(one.kind == COMPOSITE for one in made.values()):
        raise ValueError("a composite target is not made of composites")
    return made


def _plain(name: str, value: Any) -> Any:
    """A value of an option: lists are tuples, and TVM prints numbers as `T.bool(True)`."""
    if type(value) is Const:
        value = value.value
    if isinstance(value, (list, tuple)):
        return tuple(_plain(name, item) for item in value)
    if isinstance(value, dict):
        return Attrs({str(key): _plain(name, item) for key, item in value.items()})
    if isinstance(value, str):
        return _readable(f"the option {name!r} of a target", value)
    if isinstance(value, int) and value.bit_length() > 64:
        raise ValueError(f"the option {name!r} of a target is an integer of {value.bit_length():,} bits")
    if value is None or isinstance(value, (int, float, bool)):
        return value
    raise ValueError(f"the option {name!r} of a target is {words(value)}, not plain data")


def _readable(what: str, text: str) -> str:
    """A text that compilers can be told, which are given UTF-8 that ends at a zero."""
    if "\0" in text or any("\ud800" <= char <= "\udfff" for char in text):
        raise ValueError(f"{what} has characters that stand in no file: {text!r}")
    return text


__all__ = ["COMPOSITE", "EXTERNAL", "LISTS", "VECTORS", "Target"]


call_it(Target, "target")
