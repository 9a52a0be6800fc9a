/** For each error code: when a client meets it, and what to do. Shown at /api-docs/errors and in docs/errors/. */
import type { ErrorCode } from '../errors.ts';

/** when: the usual causes. act: what the one who reads it can do. Markdown without links. */
export type ErrorAdvice = Readonly<{ when: string; act: string }>;

export const errorAdvice: Readonly<Record<ErrorCode, ErrorAdvice>> = {
  credential_missing: {
    when: 'The request has no `Authorization: Bearer ...` header, or the socket was opened without the subprotocol `bio.bearer.<base64url(token)>`. A credential in the address is not read.',
    act: 'Send the credential in the header, or in the subprotocol.',
  },
  credential_invalid: {
    when: 'A typing mistake (keys carry a checksum), a key that was revoked, rotated or has expired, a token of another service or signed with a key that is gone, a user who was erased. Many failures from one address are slowed down. At sign-in: the address or the password is wrong.',
    act: 'Make a new key (`biosignal key create`), or mint a new token. An open socket hears this within a second of the revocation.',
  },
  credential_kind: {
    when: 'A user token where an organization key is needed (minting tokens, projects, keys), or an organization key where the answer belongs to one person (their journal, their tasks). An open socket that was given (`auth`) a token of another person, or a key of another organization or project or with fewer scopes.',
    act: 'The endpoint names the kinds that it takes in `/api-docs`. Open a new socket for another credential.',
  },
  token_expired: {
    when: 'User tokens live for an hour. `bio-provider` says `bio:token:expiring` five minutes before.',
    act: 'Have your backend mint a new one (`POST /api/v1/sdk/token`). An open socket can be renewed in band with `{"type":"auth","token":...}`.',
  },
  scope_missing: {
    when: 'The key is valid but was made without the scope: `read`, `write`, `ingest` or `admin`; the account of the dashboard has a role that may not do this; or a key would give more than it has itself: a role, a scope, a longer life, something of the organization from a key of one project.',
    act: '`detail` says what is needed. Make a key with the scope; scopes of a key do not change. For another role ask an owner or admin of your organization, or the operator (`biosignal operator role`).',
  },
  origin_forbidden: {
    when: "A web page (a request with `Origin`) sends an organization key. In direct mode (headers `project-key` and `xuser-id`) that is accepted from origins in `ALLOWED_ORIGINS` or registered at the project. Or a dashboard session changes something without saying that it does so from the service's own pages (`Origin`, or `Sec-Fetch-Site: same-origin`).",
    act: 'Use user tokens in pages (`POST /api/v1/sdk/token`, from your backend); for direct mode register the origin (`PUT /api/v1/projects/{projectId}/origins`). Programs use a key, not a session, and send no `Origin`.',
  },
  https_required: {
    when: 'Plain HTTP from another machine, or a TLS proxy that is not named in `BIO_TRUST_PROXY` or does not send `X-Forwarded-Proto: https`.',
    act: 'Use the HTTPS address. Operators: `biosignal doctor` says what holds. A credential that was sent in the clear should be rotated.',
  },
  consent_missing: {
    when: 'The project requires a consent for this and the person has not given it, or has withdrawn it. In direct mode too: a key reads as the organization, whatever person its headers name. What is open (live views, ingest) ends within a second.',
    act: 'Nothing to repeat. `GET /api/v1/xusers/{xuserId}/consents` shows what was given; the person records it, or an application or operator on their behalf.',
  },
  not_found: {
    when: 'A wrong id, a record that was erased, or one of another organization, project or person: the answers are the same on purpose.',
    act: 'Look for the id in the list of the same credential. An unknown path is also answered with this.',
  },
  bad_request: {
    when: 'JSON that does not parse, a query parameter given twice, a header that contradicts another, a socket message that is not understood.',
    act: '`detail` names the place.',
  },
  validation_failed: {
    when: 'A field is missing, of another type, outside its range, or unknown; a time without an offset; text with a control character or a lone surrogate.',
    act: '`errors` has a JSON pointer and a sentence per field. The schema is in `/api-docs`.',
  },
  method_not_allowed: {
    when: 'The path exists for other methods.',
    act: 'The `Allow` header names them.',
  },
  not_acceptable: {
    when: 'The `Accept` header asks for media types that this endpoint does not have.',
    act: '`/api-docs` lists those it has, e.g. `text/csv` and Arrow for samples.',
  },
  unsupported_media_type: {
    when: 'A `Content-Type` other than the endpoint takes (packets: `application/x-protobuf`), or a `Content-Encoding` other than gzip or zstd.',
    act: 'Set the header to what is sent.',
  },
  payload_too_large: {
    when: 'The body, after decompression, is larger than the limit: 8 MiB for a batch of packets (`BIO_BATCH_BYTES_MAX`).',
    act: 'Send smaller batches. The limit is in `detail`.',
  },
  headers_too_large: {
    when: 'Usually a proxy or a browser that adds cookies of other applications of the same host.',
    act: 'Send fewer headers. The service needs none but the credential, `Content-Type` and `Accept`.',
  },
  idempotency_mismatch: {
    when: 'The same `Idempotency-Key` came with another body within a day.',
    act: 'One key per intended change; a repetition must be byte for byte the same.',
  },
  conflict: {
    when: 'The record changed since it was read, exists already, or the step is not possible in its state (a completed task, an amended response, the last administrator).',
    act: 'Read the record again and decide. `detail` says what is in the way.',
  },
  precondition_failed: {
    when: 'The request has `If-Match`, and the record has another `ETag` by now: somebody else was faster. Nothing was saved.',
    act: 'Read the record again, show both to the person, and send the change again with the new `ETag`.',
  },
  precondition_required: {
    when: 'An operator changes something that others may be changing too, without `If-Match`. Keys may leave it out.',
    act: 'Send `If-Match` with the `ETag` of the answer that was read, or `*` to replace whatever is there.',
  },
  cursor_invalid: {
    when: 'A `cursor` that was cut or typed, or is used with other parameters than the page it came from.',
    act: 'Follow the `Link: <...>; rel="next"` header as it is; start again from the first page.',
  },
  range_too_large: {
    when: 'More time or more points than one answer gives.',
    act: 'Ask for a shorter range or coarser points, or follow the pages. For whole recordings: `biosignal export`.',
  },
  request_timeout: {
    when: 'The body did not arrive in time (`BIO_BODY_TIMEOUT_MS`, 10 s): a slow or broken line.',
    act: 'Send the same again; smaller batches on slow lines.',
  },
  packet_malformed: {
    when: 'The bytes are no packet of `proto/biosignal.proto`, or break one of the rules of the wire format (samples in two encodings, quality runs that do not add up, a field twice).',
    act: '`detail` names the byte. Do not send it again; keep it for whoever wrote the encoder. `protoc --decode` shows what it holds.',
  },
  packet_too_large: {
    when: 'One packet is larger than 256 KiB (`BIO_PACKET_BYTES_MAX`).',
    act: 'Cut the time into shorter packets: it does not matter for the results.',
  },
  packet_schema_version: {
    when: 'A device that is newer than the service, or a `schema_version` that was never set.',
    act: 'Upgrade the service first, then devices. Every version ever released is accepted.',
  },
  packet_invalid: {
    when: 'A field is outside its range: a rate of 0, a block longer than an hour, a `device_id` with other characters, text with a control character, a user that may not be recorded by this credential.',
    act: '`detail` names the field, or its byte, with its value and the limit.',
  },
  packet_clock: {
    when: 'The samples would lie before the year 2000 or more than 600 s in the future: a wall clock that was never set, or seconds where nanoseconds are meant. A recording that states when it was made (`recorded_unix_ns`) may lie anywhere from 1900 to 2199.',
    act: 'Set the clock, or leave `t0_unix_ns` and `sent_unix_ns` at 0. For this boot the stream keeps the epoch that it has.',
  },
  packet_conflict: {
    when: 'The device used a sequence number of this boot for two different packets, most often after a restart that kept `boot_id` but lost the counter; or two devices have the same id and boot. Compared are `t0_device_ns`, `subject`, blocks, measurements and events, byte by byte; `sent_unix_ns`, `t0_unix_ns` and `firmware` may differ from one try to the next.',
    act: 'A new `boot_id` whenever the sampling clock or the counter starts again. The packet that came first stays; the samples of this one can be sent under a number that is free. Operators find it in the audit log as `packet.conflict`, once per stream and minute.',
  },
  channel_limit: {
    when: 'More than 64 different channel descriptions in one boot: a gain or a unit that changes from packet to packet.',
    act: 'Describe a channel once and keep to it. Physical values belong into float samples with gain 1.',
  },
  rate_limited: {
    when: 'More requests or packets than one credential or device may send a second (`BIO_REQUESTS_PER_SEC_MAX`, `BIO_DEVICE_PACKETS_PER_SEC_MAX`); a socket that ignores its window; more open sockets or newly opened streams than one user or key may have (`BIO_USER_INGEST_SOCKETS_MAX`, `BIO_USER_LIVE_SOCKETS_MAX`, `BIO_USER_STREAMS_PER_MIN_MAX`, `BIO_KEY_INGEST_SOCKETS_MAX`, `BIO_KEY_LIVE_SOCKETS_MAX`, `BIO_KEY_STREAMS_PER_MIN_MAX`); or a wrong credential that was sent too often. `detail` says which.',
    act: 'Wait for `Retry-After` seconds. Nothing was kept or done: send the same again. Put more into one packet, more packets into one batch.',
  },
  busy: {
    when: 'A queue of the service is full; it protects what it has already taken. Or the first request with this `Idempotency-Key` is still being answered.',
    act: 'Nothing was kept: wait for `Retry-After`, send the same again. Operators: `/metrics` shows which queue, `/readyz` what waits.',
  },
  unavailable: {
    when: 'The database, or another part that this request needs, is away; or this instance waits for another one that takes the packets (standby).',
    act: 'Nothing was kept: send the same again later. Operators: `/readyz` and `biosignal doctor` say which part.',
  },
  shutting_down: {
    when: 'The service is being restarted or upgraded. What was acknowledged is stored.',
    act: 'Reconnect after a moment and send again what was not settled.',
  },
  slow_consumer: {
    when: 'A viewer got frames left out for 30 s (`BIO_VIEWER_SLOW_SEC_MAX`): a slow line, a page in the background, a program that does not read.',
    act: 'Reconnect; ask for fewer channels or a lower rate (`max_rate_hz`). Nothing is lost in the database.',
  },
  replay_too_old: {
    when: 'Frames are held for about 60 s; the ones asked for with `after` are gone.',
    act: 'Go on live, and read what is missing from `/api/v1/streams/{streamId}/samples`.',
  },
  internal: {
    when: 'A mistake of ours.',
    act: 'Send the same again once. If it stays, give the `request_id` to the operator: it is in the log with the cause.',
  },
};
