# Jobs on the host target, and jobs that plan and merge. From the top of a checkout:
#     docker build -f ci/containers/cpu.Dockerfile -t bitgate-cpu .
# The base is pinned by tag and digest: take both from `docker buildx imagetools inspect python:3.11-slim-bookworm`.
FROM python:3.11.14-slim-bookworm@sha256:65a93d69fa75478d554f4ad27c85c1e69fa184956261b4301ebaf6dbb0a3543d

RUN apt-get update \
    && apt-get install -y --no-install-recommends g++ git \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 1000 ci

# What jobs install lands in an environment of the user's own.
ENV VIRTUAL_ENV=/home/ci/python PATH=/home/ci/python/bin:$PATH
USER ci
WORKDIR /home/ci
RUN python3 -m venv "$VIRTUAL_ENV"
COPY --chown=ci . bitgate
RUN pip install --no-cache-dir ./bitgate && rm -rf bitgate
