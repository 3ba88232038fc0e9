# The operator's image, with docker, podman or buildah: `docker build .`; docs/image.md tells the rest.
ARG BASE_IMAGE=python:3.12-slim

# Where a build without a network finds its wheels: --build-context wheels=FOLDER --build-arg PIP_NO_INDEX=1
FROM scratch AS wheels

# What the lock file names, in a virtual environment without pip. It changes as rarely as the lock file does.
FROM ${BASE_IMAGE} AS dependencies
ARG PIP_INDEX_URL
ARG PIP_NO_INDEX
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_NO_COMPILE=1 PIP_ONLY_BINARY=:all: \
    PYTHONDONTWRITEBYTECODE=1 PYTHONHASHSEED=0
RUN python3 -m venv /tools && python3 -m venv --without-pip /opt/trainop && rm /opt/trainop/bin/[Aa]ctivate*
COPY requirements.lock requirements-build.lock /src/
RUN --mount=type=bind,from=wheels,target=/wheels \
    /tools/bin/pip install --quiet --find-links /wheels --require-hashes -r /src/requirements-build.lock && \
    /tools/bin/pip --python /opt/trainop/bin/python install --quiet --find-links /wheels \
        --require-hashes -r /src/requirements.lock
# The root is read-only when it runs: bytecode is made now, and trusted without a look at its source.
# Nobody imports kubernetes.aio, which is a third of everything.
RUN /opt/trainop/bin/python -m compileall -q --invalidation-mode unchecked-hash -x /kubernetes/aio/ /opt/trainop/lib

# trainop itself in a tree of its own, so that a new version is one small layer.
FROM dependencies AS project
ARG SOURCE_DATE_EPOCH=0
COPY . /src/
RUN cd /src && \
    /tools/bin/pip wheel --quiet --no-index --no-deps --no-build-isolation --wheel-dir /dist . && \
    /tools/bin/pip --python /opt/trainop/bin/python install --quiet --no-index --no-deps --no-warn-script-location \
        --find-links /dist --root /project trainop && \
    /opt/trainop/bin/python -m compileall -q --invalidation-mode unchecked-hash -s /project -p / /project && \
    packages=$(/opt/trainop/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))') && \
    echo /opt/frameworks > "/project$packages/frameworks.pth" && \
    /tools/bin/python -m tools.sbom --path "$packages" --path "/project$packages" > /project/opt/trainop/sbom.cdx.json

FROM ${BASE_IMAGE}
# Nothing is to be installed any more, so what the base has for that goes.
RUN rm -rf /usr/bin/pip* /usr/lib/python3*/ensurepip /usr/lib/python3/dist-packages/pip* /usr/share/python-wheels \
    /usr/local/bin/pip* /usr/local/lib/python3*/ensurepip /usr/local/lib/python3*/site-packages/pip*
ENV PATH=/opt/trainop/bin:/usr/local/bin:/usr/bin:/bin PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
COPY --from=dependencies /opt/trainop /opt/trainop
COPY --from=project /project /
USER 65532:65532
EXPOSE 8080 8081
ENTRYPOINT ["trainop"]
CMD ["operator"]
ARG VERSION=0.1.0
ARG REVISION=unknown
ARG SOURCE=unknown
LABEL org.opencontainers.image.title="trainop" \
      org.opencontainers.image.description="One Kubernetes operator for distributed training jobs: TFJob, MXJob and whatever framework comes next." \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.source="${SOURCE}"
