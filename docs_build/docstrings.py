"""What the reference makes of the package's docstrings before they are rendered.

Parameters are declared as `alpha: float = parameter(0.06, above=0, doc="...")`: the reference shows the default, and
what alpha means. Examples that stand without a heading are shown as code, too.
"""

from __future__ import annotations

import ast
import re
from typing import Any

import griffe

# From a prompt to the next empty line.
EXAMPLE = re.compile(r"^>>> .*?(?=\n\s*\n|\Z)", re.MULTILINE | re.DOTALL)


class Docstrings(griffe.Extension):
    """Changes docstrings and the values of parameters as they are read from the sources."""

    def on_attribute_instance(self, *, attr: griffe.Attribute, **kwargs: Any) -> None:
        """Replace a call of `parameter` by its default, and its `doc` by a docstring."""
        if attr.value is None or not str(attr.value).startswith("parameter("):
            return
        call = ast.parse(str(attr.value), mode="eval").body
        assert isinstance(call, ast.Call)
        doc = [ast.literal_eval(word.value) for word in call.keywords if word.arg == "doc"]
        attr.value = ast.unparse(call.args[0]) if call.args else None
        if doc and attr.docstring is None:
            attr.docstring = griffe.Docstring(str(doc[0]).replace("[", "\\["), parent=attr)  # plain text, no links

    def on_class_members(self, *, cls: griffe.Class, **kwargs: Any) -> None:
        """Leave out what Python calls by itself, such as __repr__."""
        for name in [name for name in cls.members if re.fullmatch("__(?!init__).*__", name)]:
            cls.del_member(name)

    def on_instance(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Put a fence around examples without a heading."""
        if obj.docstring is not None and not re.search(r"^Examples\n-+$", obj.docstring.value, re.MULTILINE):
            obj.docstring.value = EXAMPLE.sub(lambda found: f"```pycon\n{found[0]}\n```", obj.docstring.value)
