"""Several namespaces, with Roles only: nothing is asked for elsewhere, and one without rights stops no other."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from tests.chart import account
from tests.chart.account import Account
from tests.chart.helm import Helm
from tests.cluster import waiting
from tests.production.site import Site, finish


def apply(site: Site, helm: Helm, home: str, *namespaces: str) -> Account:
    """The account of a release in `home` that serves these namespaces."""
    (folder := site.folder / "-".join(namespaces)).mkdir(exist_ok=True)
    made = account.objects(helm, home, *account.only_in(*namespaces))
    return account.install(site.cluster, made, folder)


@pytest.fixture
async def others(site: Site) -> AsyncIterator[tuple[str, str]]:
    """A namespace for a release, and one that it is to serve beside that of the site."""
    names = f"{site.namespace}-home", f"{site.namespace}-b"
    for name in names:
        site.cluster.run("create", "namespace", name)
    accounts = ("get", "serviceaccounts", "-n", names[1], "-o", "name")
    waiting.until("pods can be made there", lambda: "default" in site.cluster.run(*accounts))
    yield names
    site.cluster.run("delete", "namespace", *names, "--wait=false")


async def test_all_of_them_are_served_and_nothing_is_asked_for_elsewhere(
    site: Site, helm: Helm, others: tuple[str, str]
) -> None:
    home, second = others
    who = apply(site, helm, home, site.namespace, second)
    flags = ("--namespace", second, "--leader-elect", "--leader-election-namespace", home)
    jobs = [site.job("one", Worker=2), replace(site.job("two", Worker=2), namespace=second)]
    async with site.proxy() as proxy:
        way = proxy.kubeconfig(site.folder / "way", who.token)
        async with site.started(way, *flags) as operator:
            await operator.ready()
            for job in jobs:
                await job.submit()
            for job in jobs:
                await finish(job)
    who.check()
    asked = [entry.call for entry in proxy.trace if entry.call.resource]
    assert {(call.namespace, call.resource == "leases") for call in asked} == {
        (site.namespace, False),
        (second, False),
        (home, True),
    }


async def test_one_without_rights_is_told_and_the_others_are_served(
    site: Site, helm: Helm, others: tuple[str, str]
) -> None:
    home, closed = others
    who = apply(site, helm, home, site.namespace)
    job, later = site.job("job", Worker=2), replace(site.job("later", Worker=2), namespace=closed)
    await later.submit()
    async with site.proxy() as proxy:
        way = proxy.kubeconfig(site.folder / "way", who.token)
        async with site.started(way, "--namespace", closed) as operator:
            await job.submit()
            await finish(job)
            code, words = await operator.get("/readyz")
            assert code == 503
            assert f"pods of {closed} have not been listed yet: pods is forbidden" in words
            assert site.namespace + " " not in words
            assert await operator.get("/healthz") == (200, "ok\n")
            assert await later.pods() == {}
            apply(site, helm, home, site.namespace, closed)
            await finish(later)
            await operator.ready()
