"""Every mistake in documents: of YAML, of the kind, of the schema and of the rules, in the order of the files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from trainop import rules
from trainop.crd import crd
from trainop.files import guess, manners
from trainop.files.documents import Document
from trainop.files.nodes import Place, Stand, around
from trainop.files.schema import Comparison, Finding
from trainop.framework import Framework
from trainop.model import GVK, Job, Problem
from trainop.parse import UNKNOWN, parse
from trainop.podschema import Schema, metadata_schema

_TEXT: Schema = {"type": "string"}
_LIKE_A_KIND = 0.85
"""`TFJobs` is meant for `TFJob`; an `MPIJob` is not meant for `MXJob`."""


class Mistake(NamedTuple):
    file: str
    line: int
    column: int
    document: int
    kind: str
    name: str
    path: str
    message: str
    hint: str


class Checked(NamedTuple):
    """A job without mistakes."""

    framework: Framework[Any]
    raw: dict[str, Any]
    """As it is written."""
    job: Job[Any]
    namespace: str
    """As it is written; empty where it is not."""


class Report:
    def __init__(self) -> None:
        self.jobs = 0
        """Documents that are, or are meant to be, a job."""
        self.wrong = 0
        self.good: list[Checked] = []
        self.mistakes: list[Mistake] = []
        self.skipped: list[str] = []
        """The kinds of documents that are none of our business."""


class Checker:
    def __init__(self, frameworks: Mapping[GVK, Framework[Any]]) -> None:
        self._frameworks = frameworks

    def check(self, documents: Iterable[Document]) -> Report:
        report = Report()
        for document in documents:
            kind = _Identity(document, self._frameworks)
            if kind.other and not document.flaws:
                report.skipped.append(kind.name)
                continue
            report.jobs += 1
            findings = [*kind.findings]
            job = None
            if kind.framework and not kind.stranger:
                job, found = self._job(kind.framework, document.value)
                findings += found
            mistakes = sorted({*_flaws(document), *_placed(document, findings)})
            report.mistakes += mistakes
            report.wrong += bool(mistakes)
            if kind.framework and job and not mistakes:
                report.good.append(
                    Checked(kind.framework, document.value, job, _metadata(document, "namespace"))
                )
        return report

    def _job(self, framework: Framework[Any], value: Any) -> tuple[Job[Any], list[Finding]]:
        """What is wrong with the shape; then, of what is left, which rules it breaks."""
        if read := framework.manner.read:
            around_it = Comparison(value, _schema(framework), {})
            job, found = manners.job(framework, read, around_it.left, _advice)
            return job, [*filter(_counts, around_it.findings), *found]
        roles = f"spec.{framework.replicas_field}"
        names = [role.name for role in framework.roles]
        compared = Comparison(value, _schema(framework), {roles: (names, rules.roles_message(framework))})
        job = parse(framework, compared.left, strict=True)
        found = [finding for finding in compared.findings if _counts(finding)]
        broken = (problem for problem in job.problems if not _follows(problem, compared.findings))
        return job, found + [
            Finding(
                p.path,
                compared.written(p.path),
                p.message,
                _advice(framework, p),
                at_key=p.message == UNKNOWN,
            )
            for p in broken
        ]


@cache
def _schema(framework: Framework[Any]) -> Schema:
    """The CRD's, and what the API server itself minds around that. It takes a while to make."""
    schema: Schema = crd(framework)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"] |= {"apiVersion": _TEXT, "kind": _TEXT, "metadata": metadata_schema()}
    return schema


class _Identity:
    """Which framework a document is for, or is meant for."""

    def __init__(self, document: Document, frameworks: Mapping[GVK, Framework[Any]]) -> None:
        self.findings: list[Finding] = []
        self.stranger = False
        """It is written in another dialect: its fields are not looked at."""
        self.framework: Framework[Any] | None = None
        api_version, self.name = _text(document.value, "apiVersion"), _text(document.value, "kind")
        if isinstance(document.value, dict):
            self._identify(frameworks, api_version, document.value)
        elif not document.flaws:
            self._say("", "this is no Kubernetes object", "write apiVersion, kind, metadata and spec")

    def _identify(
        self, frameworks: Mapping[GVK, Framework[Any]], api_version: str, value: Mapping[str, Any]
    ) -> None:
        self.framework = _meant(frameworks, api_version, self.name, value)
        known = [cousin for framework in frameworks.values() for cousin in framework.manner.cousins]
        served = self.framework.api_versions if self.framework else ()
        if api_version not in served and f"{api_version} {self.name}" in known:
            self.stranger = True
            message = f"{self.name} of {api_version} is not served"
            self._say("apiVersion", message, "rewrite it with `trainop convert`")
        elif self.framework:
            self._compare(self.framework, api_version, self.name)
        elif not (api_version and self.name):
            missing = "kind" if api_version else "apiVersion"
            self._say(missing, "is required", f"write {missing}: ...")

    @property
    def other(self) -> bool:
        return self.framework is None and not self.findings

    def _compare(self, framework: Framework[Any], api_version: str, kind: str) -> None:
        right = framework.gvk
        group = api_version.rpartition("/")[0]
        if api_version and group != right.group:
            self.stranger = True
            message = f"no installed framework reads {kind} of {api_version}"
            self._say("apiVersion", message, f"write it as a {right.kind} of {right.api_version}")
            return
        for field, is_, wanted, known in (
            ("apiVersion", api_version, right.api_version, framework.api_versions),
            ("kind", kind, right.kind, (right.kind,)),
        ):
            if is_ not in known:
                message = f"must be {wanted}, not {is_!r}" if is_ else "is required"
                self._say(field, message, f"write {field}: {wanted}")

    def _say(self, path: str, message: str, hint: str) -> None:
        self.findings.append(Finding(path, path, message, hint))


def _meant(
    frameworks: Mapping[GVK, Framework[Any]], api_version: str, kind: str, value: Mapping[str, Any]
) -> Framework[Any] | None:
    """By its kind, in any letter case; by a kind like it, in a group of ours; without a kind by its roles."""
    group, spec = api_version.rpartition("/")[0], value.get("spec")
    ours = [framework for framework in frameworks.values() if framework.group == group or not api_version]
    if not kind:
        return next((f for f in ours if isinstance(spec, dict) and f.replicas_field in spec), None)
    for candidates in (ours, frameworks.values()):
        if same := next((f for f in candidates if f.kind.lower() == kind.lower()), None):
            return same
    meant = guess.meant(kind, [framework.kind for framework in ours], _LIKE_A_KIND)
    return next((framework for framework in ours if framework.kind == meant), None)


def _counts(finding: Finding) -> bool:
    """Of a status only the spelling counts: the API server does not take it from users."""
    return finding.message == UNKNOWN or not finding.path.startswith("status")


def _follows(problem: Problem, findings: Iterable[Finding]) -> bool:
    """Whether it is only there because something was left out: it is about that place, or one below, or says of
    what is around it that something is missing."""
    lost = [finding.path for finding in findings if finding.lost]
    return any(
        problem.path in (path, around(path)) or problem.path.startswith((f"{path}.", f"{path}["))
        for path in lost
    )


def _advice(framework: Framework[Any], problem: Problem) -> str:
    if problem.message == rules.container_message(framework):
        return f"write name: {framework.container}"
    if problem.message == rules.image_message():
        return "write image: NAME:TAG"
    if problem.message == UNKNOWN:
        return "remove it, or write it as it should be"
    return ""


def _flaws(document: Document) -> Iterator[Mistake]:
    for flaw in document.flaws:
        yield _mistake(document, flaw.place, flaw.path.removeprefix(document.prefix), flaw.message, flaw.hint)


def _placed(document: Document, findings: Iterable[Finding]) -> Iterator[Mistake]:
    for finding in findings:
        stand = _nearest(document.stands, f"{document.prefix}{finding.written}")
        place = document.start
        if stand:
            place = stand.value if stand.short and not finding.at_key else stand.key
        yield _mistake(document, place, finding.written, finding.message, finding.hint)


def _nearest(stands: Mapping[str, Stand], path: str) -> Stand | None:
    """Of the field, or of the first one around it that is there."""
    while path and path not in stands:
        path = around(path)
    return stands.get(path)


def _mistake(document: Document, place: Place, path: str, message: str, hint: str) -> Mistake:
    kind, name = _text(document.value, "kind"), _metadata(document, "name")
    return Mistake(document.file, *place, document.number, kind, name, path, message, hint)


def _metadata(document: Document, field: str) -> str:
    return _text(document.value.get("metadata"), field) if isinstance(document.value, dict) else ""


def _text(value: Any, field: str) -> str:
    found = value.get(field) if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""
