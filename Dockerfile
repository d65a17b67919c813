# Built JavaScript only, no development packages, an ordinary user.
#   docker build -t isthmus .
#   docker run -v "$PWD/isthmus.yaml:/etc/isthmus/isthmus.yaml:ro" -p 9192-9212:9192-9212 isthmus
ARG NODE_IMAGE=node:24-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
# The image's own Node runs everything: the packaged ones are for machines with an older Node.
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY protocol protocol
COPY src src
RUN npm run build && npm ci --omit=dev --ignore-scripts && rm -rf node_modules/node-* node_modules/.bin/node

FROM ${NODE_IMAGE}
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /build/package.json ./
COPY --from=build /build/node_modules node_modules
COPY --from=build /build/dist dist
COPY scripts/health.mjs scripts/health.mjs
COPY LICENSE ./
USER node
# Bound to the container's loopback by default; set it to the address of `admin.bind` when that is another.
ENV ISTHMUS_ADMIN=http://127.0.0.1:9190
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 CMD ["node", "scripts/health.mjs"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["node", "dist/src/bin.js"]
CMD ["run", "-c", "/etc/isthmus/isthmus.yaml"]
