# Jobs on AMD GPUs. From the top of a checkout:
#     docker build -f ci/containers/rocm.Dockerfile -t bitgate-rocm .
# The base is pinned by its exact release; a lab adds the digest that its registry has:
# `docker buildx imagetools inspect rocm/dev-ubuntu-24.04:7.2.4-complete`. hip-python is of the same ROCm.
FROM rocm/dev-ubuntu-24.04:7.2.4-complete

RUN apt-get update \
    && apt-get install -y --no-install-recommends g++ git python3-venv \
    && rm -rf /var/lib/apt/lists/* \
    && groupadd --force --system render \
    && useradd --create-home --groups video,render ci

ENV VIRTUAL_ENV=/home/ci/python PATH=/home/ci/python/bin:/opt/rocm/bin:$PATH
USER ci
WORKDIR /home/ci
RUN python3 -m venv "$VIRTUAL_ENV"
COPY --chown=ci . bitgate
RUN pip install --no-cache-dir ./bitgate 'hip-python==7.2.*' && rm -rf bitgate
