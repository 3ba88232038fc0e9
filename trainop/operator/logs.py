"""How the log looks: text for people, or one JSON object a line for programs. What a job runs is never in it."""

from __future__ import annotations

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Literal, TextIO

Format = Literal["text", "json"]


class _Stderr(logging.StreamHandler[TextIO]):
    def flush(self) -> None:
        """It is written line by line."""


def to_stderr(form: Format, level: str) -> None:
    _to(_Stderr(sys.stderr), form, level)


def to_file(path: Path) -> None:
    _to(logging.FileHandler(path), "text", "info")


def _to(handler: logging.Handler, form: Format, level: str) -> None:
    handler.setFormatter(_Json() if form == "json" else _Text())
    handler.addFilter(_without_the_way_there)
    logging.basicConfig(handlers=[handler], level=level.upper(), force=True)
    # No line tells of these, nor where in the program it comes from, and to find that out costs more than the line.
    logging._srcfile = None
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    for chatty in ("aiohttp", "asyncio"):
        logging.getLogger(chatty).setLevel(logging.WARNING)


def _without_the_way_there(record: logging.LogRecord) -> bool:
    """The event loop shows the inside of itself when a connection breaks, or is given up in the middle of its
    handshake; whoever used that says what it means."""
    error = record.exc_info[1] if record.exc_info else None
    if error and not record.name.startswith("trainop") and (isinstance(error, OSError) or _in_uvloop(error)):
        record.exc_info = None
    return True


def _in_uvloop(error: BaseException) -> bool:
    frames = [frame.f_globals.get("__name__", "") for frame, _ in traceback.walk_tb(error.__traceback__)]
    return any(name.partition(".")[0] == "uvloop" for name in (*frames[-1:], type(error).__module__))


def _time(record: logging.LogRecord) -> str:
    second = int(record.created)
    return f"{_date(second)}.{int(1000 * (record.created - second)):03}Z"


@lru_cache(maxsize=1)
def _date(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")


class _Text(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        about = getattr(record, "about", {})
        uid = f" uid={about['uid']}" if about else ""
        line = f"{_time(record)} {record.levelname:<7} {_one_line(record.getMessage())}{uid}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "about", {}),
        }
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        told = json.dumps(line, ensure_ascii=False)
        # A terminal obeys some of what JSON need not escape, such as the control characters above 127.
        return told if told.isprintable() else json.dumps(line)


def _one_line(message: str) -> str:
    """What users wrote must not look like a line of ours."""
    return message if message.isprintable() else "".join(c if c.isprintable() else " " for c in message)
