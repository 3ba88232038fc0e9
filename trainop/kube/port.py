"""The one seam where requests leave the process: what an API server is to the rest of the house.

Two implementations: client.Client over HTTP, memory.Memory in this process. The same scenarios run on both.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeVar

from msgspec import Struct

T = TypeVar("T")
Raw = dict[str, Any]


class Resource(NamedTuple):
    group: str
    version: str
    plural: str

    def path(self, namespace: str | None, name: str = "", subresource: str = "") -> str:
        """`/apis/kubeflow.org/v1/namespaces/NS/tfjobs/NAME/status`; no namespace means all of them."""
        where = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        where += f"/namespaces/{namespace}/{self.plural}" if namespace else f"/{self.plural}"
        where += f"/{name}" if name else ""
        return f"{where}/{subresource}" if subresource else where


PODS = Resource("", "v1", "pods")
SERVICES = Resource("", "v1", "services")
EVENTS = Resource("", "v1", "events")


class Listing(Struct, Generic[T], frozen=True):
    items: list[T]
    resource_version: str


class Change(Struct, Generic[T], frozen=True):
    """One line of a watch. A bookmark carries an object of which only the resourceVersion counts."""

    type: Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]
    object: T


class Api(Protocol):
    """Each verb raises an `errors.ApiError`. `shape` says what an answer is decoded into: a msgspec struct that
    names the fields one wants to see, or `dict` for all of them."""

    async def get(self, what: Resource, namespace: str, name: str, shape: type[T]) -> T: ...

    async def create(self, what: Resource, namespace: str, body: Mapping[str, Any], shape: type[T]) -> T:
        """Exists: there is one of that name."""

    async def delete(self, what: Resource, namespace: str, name: str, uid: str) -> None:
        """Only the object with that UID. Gone: it is not there. Conflict: the name is another's by now."""

    async def patch(
        self,
        what: Resource,
        namespace: str,
        name: str,
        patch: Mapping[str, Any],
        shape: type[T],
        *,
        subresource: str = "",
    ) -> T:
        """A JSON merge patch. With a resourceVersion in it, Conflict: the object has changed since."""

    async def list(
        self, what: Resource, shape: type[T], *, namespace: str | None = None, selector: str = ""
    ) -> Listing[T]: ...

    def watch(
        self, what: Resource, shape: type[T], *, since: str, namespace: str | None = None, selector: str = ""
    ) -> AsyncIterator[Change[T]]:
        """Ends quietly when the server closes the stream. Gone: `since` is too old, list again."""
