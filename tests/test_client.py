"""The client against a real API server: every verb, and every no that can be had for the asking."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest
from kubernetes.client import AuthenticationV1TokenRequest, CoreV1Api, V1TokenRequestSpec

from tests.cluster.controlplane import Cluster
from trainop.errors import Conflict, Exists, Gone, Refused, Unreachable
from trainop.kube import client as client_module
from trainop.kube import credentials, wire
from trainop.kube.cache import Cache
from trainop.kube.client import Client
from trainop.kube.port import PODS, SERVICES, Resource
from trainop.kube.session import Request
from trainop.model import SeenService

CRDS = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions")
QUOTAS = Resource("", "v1", "resourcequotas")


@pytest.fixture
async def api(control_plane: Cluster) -> AsyncIterator[Client]:
    async with Client(credentials.load(str(control_plane.kubeconfig))) as client:
        yield client


def a_pod(name: str, **metadata: Any) -> dict[str, Any]:
    metadata = {"name": name, "labels": {"app": "test"}} | metadata
    return {"metadata": metadata, "spec": {"containers": [{"name": "main", "image": "none"}]}}


def a_service(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"clusterIP": "None", "ports": [{"port": 1}]}}


# --- verbs ----------------------------------------------------------------------------------------------------


async def test_what_was_created_can_be_got_in_any_shape(api: Client, namespace: str) -> None:
    made = await api.create(PODS, namespace, a_pod("a"), wire.Pod)
    assert made.seen().phase == "Pending"
    whole = await api.get(PODS, namespace, "a", dict)
    assert whole["metadata"]["uid"] == made.metadata.uid
    assert whole["spec"]["containers"][0]["image"] == "none"


async def test_of_a_shape_without_more_than_metadata_no_more_is_sent(api: Client, namespace: str) -> None:
    made = await api.create(SERVICES, namespace, a_service("a"), wire.Service)
    assert made.seen() == SeenService("a", made.metadata.uid)
    listing = await api.list(SERVICES, wire.Service, namespace=namespace)
    assert listing.items == [made]
    bare = client_module._codec(wire.Service)
    path = SERVICES.path(namespace)
    every = Request("list", "GET", "services", path)
    assert b"PartialObjectMetadataList" in (await api._session.ask(every, bare.accept_list)).body
    one = Request("get", "GET", "services", f"{path}/a")
    assert b'"clusterIP"' not in (await api._session.ask(one, bare.accept)).body


async def test_a_status_is_patched_and_nothing_else(api: Client, namespace: str) -> None:
    await api.create(PODS, namespace, a_pod("a"), wire.Pod)
    patch = {"status": {"phase": "Running"}, "metadata": {"labels": {"app": "other"}}}
    patched = await api.patch(PODS, namespace, "a", patch, wire.Pod, subresource="status")
    assert patched.seen().phase == "Running"
    # A merge patch of an object's own fields: null removes.
    relabelled = await api.patch(PODS, namespace, "a", {"metadata": {"labels": {"app": None}}}, wire.Pod)
    assert relabelled.metadata.labels == {}


async def test_what_was_deleted_is_gone(api: Client, namespace: str) -> None:
    made = await api.create(PODS, namespace, a_pod("a"), wire.Pod)
    await api.delete(PODS, namespace, "a", made.metadata.uid)
    with pytest.raises(Gone, match='pods "a" not found'):
        await api.get(PODS, namespace, "a", wire.Pod)


async def test_a_list_of_many_pages_is_whole(control_plane: Cluster, namespace: str) -> None:
    async with Client(credentials.load(str(control_plane.kubeconfig)), page=2) as api:
        for name in "abcde":
            await api.create(PODS, namespace, a_pod(name), wire.Pod)
        await api.create(PODS, namespace, a_pod("x", labels={"app": "other"}), wire.Pod)
        listing = await api.list(PODS, wire.Pod, namespace=namespace, selector="app=test")
    assert [item.metadata.name for item in listing.items] == list("abcde")
    assert int(listing.resource_version) >= max(int(item.metadata.resource_version) for item in listing.items)


async def test_without_a_namespace_all_of_them_are_listed(api: Client, namespace: str) -> None:
    made = await api.create(PODS, namespace, a_pod("a"), wire.Pod)
    listing = await api.list(PODS, wire.Pod)
    assert made.metadata.uid in {item.metadata.uid for item in listing.items}


async def test_the_kinds_that_are_installed_can_be_asked_for(api: Client) -> None:
    assert "deployments" in await api.served("apps", "v1")
    assert await api.served("nobody.test", "v1") == frozenset()


# --- watches --------------------------------------------------------------------------------------------------


async def test_a_watch_tells_what_happens_to_what_was_asked_for(api: Client, namespace: str) -> None:
    since = (await api.list(PODS, wire.Pod, namespace=namespace)).resource_version
    made = await api.create(PODS, namespace, a_pod("a"), wire.Pod)
    await api.create(PODS, namespace, a_pod("x", labels={}), wire.Pod)
    await api.patch(PODS, namespace, "a", {"status": {"phase": "Running"}}, dict, subresource="status")
    await api.delete(PODS, namespace, "a", made.metadata.uid)
    told = []
    watch = api.watch(PODS, wire.Pod, since=since, namespace=namespace, selector="app=test")
    async with asyncio.timeout(30), aclosing(watch):
        async for change in watch:
            told.append((change.type, change.object.metadata.name, change.object.status.phase))
            if change.type == "DELETED":
                break
    assert told[0][0] == "BOOKMARK"
    assert told[1:3] == [("ADDED", "a", "Pending"), ("MODIFIED", "a", "Running")]
    assert told[-1] == ("DELETED", "a", "Running")


async def test_a_watch_that_the_server_ends_just_ends(
    api: Client, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "_WATCH", 1)
    since = (await api.list(SERVICES, wire.Service, namespace=namespace)).resource_version
    made = await api.create(SERVICES, namespace, a_service("a"), wire.Service)
    async with asyncio.timeout(30):
        told = [
            change async for change in api.watch(SERVICES, wire.Service, since=since, namespace=namespace)
        ]
    assert [change.type for change in told] == ["BOOKMARK", "ADDED"]
    assert told[-1].object == made


async def test_a_watch_from_before_the_servers_memory_says_so(api: Client) -> None:
    things = Resource(f"{secrets.token_hex(4)}.trainop.test", "v1", "things")
    made = await api.create(CRDS, "", a_crd(things), wire.Service)
    try:
        async with asyncio.timeout(30):
            while not await served(api, things):
                pass
            with pytest.raises(Gone, match="too old resource version") as gone:
                _ = [change async for change in api.watch(things, dict, since="1")]
    finally:
        await api.delete(CRDS, "", made.metadata.name, made.metadata.uid)
    assert (gone.value.code, gone.value.reason) == (410, "Expired")


def a_crd(resource: Resource) -> dict[str, Any]:
    schema = {"openAPIV3Schema": {"type": "object"}}
    names = {"kind": "Thing", "plural": resource.plural}
    return {
        "metadata": {"name": f"{resource.plural}.{resource.group}"},
        "spec": {
            "group": resource.group,
            "scope": "Namespaced",
            "names": names,
            "versions": [{"name": resource.version, "served": True, "storage": True, "schema": schema}],
        },
    }


async def served(api: Client, resource: Resource) -> bool:
    try:
        await api.list(resource, dict)
    except (Gone, Unreachable):
        return False
    return True


async def test_a_cache_follows_a_real_server(api: Client, namespace: str) -> None:
    news = asyncio.Event()
    cache: Cache[SeenService] = Cache(
        api, SERVICES, wire.Service, selector="", namespace=namespace, wake=lambda _: news.set()
    )
    owner = {"apiVersion": "v1", "kind": "Pod", "controller": True, "name": "a"}
    async with asyncio.timeout(30):
        task = asyncio.create_task(cache.run())
        await cache.synced.wait()
        pod = await api.create(PODS, namespace, a_pod("a"), wire.Pod)
        body = a_service("a")
        body["metadata"]["ownerReferences"] = [owner | {"uid": pod.metadata.uid}]
        made = await api.create(SERVICES, namespace, body, wire.Service)
        await news.wait()
        assert cache.of(pod.metadata.uid, namespace) == (made.seen(),)
        news.clear()
        await api.delete(SERVICES, namespace, "a", made.metadata.uid)
        await news.wait()
        assert cache.of(pod.metadata.uid, namespace) == ()
        task.cancel()
        await asyncio.wait([task])


# --- the server says no ---------------------------------------------------------------------------------------


async def test_a_name_that_is_taken_exists(api: Client, namespace: str) -> None:
    await api.create(PODS, namespace, a_pod("a"), wire.Pod)
    with pytest.raises(Exists, match='pods "a" already exists'):
        await api.create(PODS, namespace, a_pod("a"), wire.Pod)


async def test_a_write_based_on_an_old_version_is_a_conflict(api: Client, namespace: str) -> None:
    made = await api.create(PODS, namespace, a_pod("a"), wire.Pod)
    old = {"metadata": {"resourceVersion": made.metadata.resource_version, "labels": {"app": "one"}}}
    await api.patch(PODS, namespace, "a", old, wire.Pod)
    old["metadata"]["labels"] = {"app": "two"}
    with pytest.raises(Conflict, match="the object has been modified"):
        await api.patch(PODS, namespace, "a", old, wire.Pod)


async def test_another_object_of_that_name_is_not_deleted(api: Client, namespace: str) -> None:
    made = await api.create(PODS, namespace, a_pod("a"), wire.Pod)
    with pytest.raises(Conflict, match="UID"):
        await api.delete(PODS, namespace, "a", "0" * len(made.metadata.uid))
    assert (await api.get(PODS, namespace, "a", wire.Pod)).metadata.uid == made.metadata.uid


async def test_what_is_not_there_is_gone(api: Client, namespace: str) -> None:
    with pytest.raises(Gone):
        await api.patch(PODS, namespace, "a", {"metadata": {}}, wire.Pod)
    with pytest.raises(Gone):
        await api.delete(PODS, namespace, "a", "u")
    with pytest.raises(Gone):
        await api.create(PODS, f"{namespace}-not", a_pod("a"), wire.Pod)
    with pytest.raises(Gone):
        await api.list(Resource("nobody.test", "v1", "things"), dict)


async def test_an_invalid_object_is_refused_in_the_servers_words(api: Client, namespace: str) -> None:
    body = a_pod("a")
    body["spec"]["containers"][0]["name"] = "Not A Name"
    with pytest.raises(Refused, match=r"spec\.containers\[0\]\.name") as refused:
        await api.create(PODS, namespace, body, wire.Pod)
    assert (refused.value.code, refused.value.reason) == (422, "Invalid")


async def test_an_object_that_makes_no_sense_is_refused(api: Client, namespace: str) -> None:
    with pytest.raises(Refused) as refused:
        await api.create(PODS, namespace, a_pod("a") | {"spec": "none"}, wire.Pod)
    assert refused.value.code == 400


async def test_what_exceeds_the_quota_is_refused_in_the_servers_words(api: Client, namespace: str) -> None:
    quota = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "0"}}}
    await api.create(QUOTAS, namespace, quota, dict)
    # The controller that would do this is not part of the test cluster.
    status = {"status": {"hard": {"pods": "0"}, "used": {"pods": "0"}}}
    await api.patch(QUOTAS, namespace, "q", status, dict, subresource="status")
    refused = Refused("")
    async with asyncio.timeout(30):
        while "exceeded quota: q" not in str(refused):  # admission hears of a quota a little later
            try:
                await api.create(PODS, namespace, a_pod(f"a-{secrets.token_hex(4)}"), wire.Pod)
            except Refused as error:
                refused = error
    assert (refused.code, refused.reason) == (403, "Forbidden")


async def test_without_the_right_to_it_one_is_refused(
    control_plane: Cluster, core_api: CoreV1Api, namespace: str
) -> None:
    request = AuthenticationV1TokenRequest(spec=V1TokenRequestSpec(audiences=[]))
    granted = core_api.create_namespaced_service_account_token("default", namespace, request).status
    assert granted is not None
    nobody = replace(credentials.load(str(control_plane.kubeconfig)), token=granted.token)
    async with Client(nobody) as api:
        with pytest.raises(Refused, match=f"serviceaccount:{namespace}:default.* cannot list") as refused:
            await api.list(PODS, wire.Pod, namespace=namespace)
    assert refused.value.code == 403


async def test_a_server_with_a_certificate_of_unknown_origin_is_not_talked_to(control_plane: Cluster) -> None:
    stranger = replace(credentials.load(str(control_plane.kubeconfig)), ca_path=None)
    async with Client(stranger) as api:
        with pytest.raises(Unreachable, match="certificate"):
            await api.list(PODS, wire.Pod)
