"""The same call to two servers."""

import difflib
import json
from collections.abc import Iterable
from typing import Any

from http_client import Answer, Http
from normal_form import normal
from waiting import until


class BothServers:
    """Calls the server under test and Temporal's, and holds their answers together."""

    def __init__(self, ours: Http, theirs: Http):
        self._ours = ours
        self._theirs = theirs

    def same(self, method: str, path: str, body: Any = None, dropped: Iterable[str] = ()) -> Answer:
        """Both answer the same, ids and times and the keys in `dropped` aside. Returns our answer."""
        left_out = frozenset(dropped)
        ours, theirs = self._ours.ask(method, path, body), self._theirs.ask(method, path, body)
        held = [[answer.code, normal(answer.body, left_out)] for answer in (theirs, ours)]
        assert held[0] == held[1], f"{method} {path}\n{difference(*held)}"
        return ours

    async def same_soon(self, path: str, dropped: Iterable[str] = ()) -> Answer:
        """As `same`, for what Temporal shows only after a while: its lists lag behind."""
        left_out = frozenset(dropped)
        ours = self._ours.get(path)
        wanted = (ours.code, normal(ours.body, left_out))

        async def shown():
            theirs = self._theirs.get(path)
            return theirs.code, normal(theirs.body, left_out)

        await until(shown, lambda theirs: theirs == wanted)
        return ours

    def same_code(self, method: str, path: str, body: Any = None) -> Answer:
        """Both refuse for the same reason, each in its own words. Returns our answer."""
        ours, theirs = self._ours.ask(method, path, body), self._theirs.ask(method, path, body)
        assert (ours.code, ours.body["code"]) == (theirs.code, theirs.body["code"])
        return ours


def difference(theirs: Any, ours: Any) -> str:
    lines = [json.dumps(answer, indent=1).splitlines() for answer in (theirs, ours)]
    return "\n".join(difflib.unified_diff(*lines, "theirs", "ours", lineterm="", n=2))
