"""How every model of the API behaves: camelCase outside, snake_case inside, frozen.

What users write is a pydantic model, which says of every mistake where it is; what is stored and read again by
programs is a msgspec record, which costs little.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated

from msgspec import Meta
from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class ApiModel(BaseModel):
    # Unknown fields are ignored: in a rolling update the CRD may be newer than the operator.
    # `trainop validate` and `render` read files with extra="forbid" instead.
    model_config = ConfigDict(
        alias_generator=to_camel, validate_by_name=True, validate_by_alias=True, frozen=True, extra="ignore"
    )


@lru_cache(maxsize=1024)
def rfc3339(moment: datetime) -> str:
    """Remembered: the times of a status are written again and again."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


Time = Annotated[datetime, Meta(tz=True)]
