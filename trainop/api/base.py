"""How every model of the API behaves: camelCase outside, snake_case inside, frozen."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated

from pydantic import AwareDatetime, BaseModel, ConfigDict, PlainSerializer
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


Time = Annotated[AwareDatetime, PlainSerializer(rfc3339, return_type=str, when_used="always")]
