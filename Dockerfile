FROM rust:1.95-bookworm AS build
WORKDIR /src
ENV LIBZ_SYS_STATIC=1
COPY Cargo.toml Cargo.lock ./
COPY src src
COPY crates crates
COPY crds crds
COPY examples examples
COPY overlays overlays
COPY tests tests
RUN cargo build --locked --profile dist

FROM debian:bookworm-slim
# ca-certificates: TLS to git servers and Azure. openssh-client: git remotes over SSH. libnss-wrapper: gives ssh a user name
# where the image runs as an arbitrary user ID, as on OpenShift.
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates libnss-wrapper openssh-client \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 65532 --create-home --home-dir /home/capstan capstan
COPY --from=build /src/target/dist/capstan /usr/local/bin/capstan
COPY --from=build /src/overlays /usr/share/capstan/overlays
USER 65532:65532
WORKDIR /home/capstan
ENTRYPOINT ["/usr/local/bin/capstan"]
