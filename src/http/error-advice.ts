/** Causes and remedies of each error code, shown at /api-docs/errors and in docs/errors/. */
import type { ErrorCode } from '../errors.ts';

/** when: the usual causes. act: what the reader can do. Markdown without links. */
export type ErrorAdvice = Readonly<{ when: string; act: string }>;

export const errorAdvice: Readonly<Record<ErrorCode, ErrorAdvice>> = {
  credential_missing: {
    when: 'The request has no `Authorization: Bearer ...` header, or the socket was opened without the subprotocol `bio.bearer.<base64url(token)>`. Credentials in the address are ignored.',
    act: 'Send the credential in the header, or in the subprotocol.',
  },
  credential_invalid: {
    when: 'A typing mistake (keys carry a checksum), a key that was revoked or rotated or has expired, a token issued by another service or signed with a withdrawn key, or a user who was erased. Repeated failures from one address are slowed down. At sign-in: the address or the password is wrong.',
    act: 'Make a new key (`biosignal key create`), or mint a new token. Open sockets are closed with this code within a second of the revocation.',
  },
  credential_kind: {
    when: 'A user token where an organization key is needed (minting tokens, projects, keys), or an organization key where the answer belongs to one person (their journal, their tasks). Or an open socket was sent (`auth`) the token of another person, or a key of another organization or project or with fewer scopes.',
    act: '`/api-docs` lists the kinds each endpoint accepts. Open a new socket for another credential.',
  },
  token_expired: {
    when: 'User tokens are valid for an hour. `bio-provider` dispatches `bio:token:expiring` five minutes before the end.',
    act: 'Have your backend mint a new one (`POST /api/v1/sdk/token`). An open socket can be renewed in band with `{"type":"auth","token":...}`.',
  },
  scope_missing: {
    when: 'The key is valid but was made without the scope `read`, `write`, `ingest` or `admin`; the dashboard account has a role that may not do this; or a key tried to grant more than it has itself: a role, a scope, a longer life, or, from a key limited to one project, something of the whole organization.',
    act: '`detail` says what is needed. Make a new key with the scope; the scopes of a key cannot be changed. For another role, ask an owner or admin of your organization, or the operator (`biosignal operator role`).',
  },
  origin_forbidden: {
    when: "A web page (a request with `Origin`) sends an organization key. In direct mode (headers `project-key` and `xuser-id`) that is accepted only from origins listed in `ALLOWED_ORIGINS` or registered for the project. Or a change made with a dashboard session did not come from the service's own pages (`Origin`, or `Sec-Fetch-Site: same-origin`).",
    act: 'Use user tokens in pages (`POST /api/v1/sdk/token`, from your backend); for direct mode register the origin (`PUT /api/v1/projects/{projectId}/origins`). Programs use a key, not a session, and send no `Origin`.',
  },
  https_required: {
    when: 'Plain HTTP from another machine, or a TLS proxy that is not named in `BIO_TRUST_PROXY` or does not send `X-Forwarded-Proto: https`.',
    act: 'Use the HTTPS address. Operators: `biosignal doctor` shows the settings in effect. Rotate any credential that was sent in the clear.',
  },
  consent_missing: {
    when: 'The project requires consent for this, and the person has not given it or has withdrawn it. This includes direct mode: a key reads as the organization, whichever person its headers name. Open live views and ingest sockets are closed within a second.',
    act: 'Do not retry at once. `GET /api/v1/xusers/{xuserId}/consents` shows what was given; the person records consent, or an application or operator does on their behalf. What goes on showing a person, such as a live view, may ask again after a while: consent can be given again.',
  },
  not_found: {
    when: 'A wrong id, a record that was erased, or one that belongs to another organization, project or person: the answers are the same on purpose.',
    act: 'Look the id up in a list read with the same credential. Unknown paths get this answer too.',
  },
  bad_request: {
    when: 'JSON that does not parse, a query parameter given twice, headers that contradict one another, or an unknown socket message.',
    act: '`detail` says where.',
  },
  validation_failed: {
    when: 'A field is missing, unknown, of the wrong type or out of range; a time has no offset; a text contains a control character or a lone surrogate.',
    act: '`errors` has a JSON pointer and a sentence per field. The schema is in `/api-docs`.',
  },
  method_not_allowed: {
    when: 'The path exists, but only for other methods.',
    act: 'The `Allow` header names them.',
  },
  not_acceptable: {
    when: 'The `Accept` header asks only for media types that this endpoint does not produce.',
    act: '`/api-docs` lists those it produces, e.g. `text/csv` and Arrow for samples.',
  },
  unsupported_media_type: {
    when: 'A `Content-Type` that the endpoint does not accept (packets: `application/x-protobuf`), or a `Content-Encoding` other than gzip or zstd.',
    act: 'Set the header to match the body.',
  },
  payload_too_large: {
    when: 'The body, after decompression, is larger than the limit: 8 MiB for a batch of packets (`BIO_BATCH_BYTES_MAX`).',
    act: 'Send smaller batches. The limit is in `detail`.',
  },
  headers_too_large: {
    when: 'Usually a proxy, or a browser that adds the cookies of other applications on the same host.',
    act: 'Send fewer headers. The service needs none but the credential, `Content-Type` and `Accept`.',
  },
  idempotency_mismatch: {
    when: 'The same `Idempotency-Key` came with another body within a day.',
    act: 'Use one key per intended change; a retry must be identical, byte for byte.',
  },
  conflict: {
    when: 'The record changed after it was read, exists already, or does not allow this step in its current state (a completed task, an amended response, the last administrator).',
    act: 'Read the record again and decide. `detail` gives the reason.',
  },
  precondition_failed: {
    when: 'The request has `If-Match`, but the `ETag` of the record has changed: someone else saved it first. Or it has `If-None-Match: *`, and what it would make is there already. Nothing was saved.',
    act: 'Read the record again, show both versions to the person, and send the change with the new `ETag`.',
  },
  precondition_required: {
    when: 'An operator changes a record that others may be editing too, without `If-Match`. Keys may leave it out.',
    act: 'Send `If-Match` with the `ETag` of the record you read, or `*` to replace whatever is there.',
  },
  cursor_invalid: {
    when: 'The `cursor` was truncated or typed by hand, or is used with parameters other than those of the page it came from.',
    act: 'Start again from the first page and follow the `Link: <...>; rel="next"` header unchanged.',
  },
  range_too_large: {
    when: 'A longer period or more points than one response can hold.',
    act: 'Ask for a shorter range or coarser points, or follow the pages. For whole recordings: `biosignal export`.',
  },
  request_timeout: {
    when: 'The body did not arrive in time (`BIO_BODY_TIMEOUT_MS`, 10 s), usually because of a slow or broken connection.',
    act: 'Send the same request again; use smaller batches on slow connections.',
  },
  packet_malformed: {
    when: 'The bytes are not a packet of `proto/biosignal.proto`, or break a rule of the wire format (samples in two encodings, quality runs that do not add up, a repeated field).',
    act: '`detail` names the byte. Do not send the packet again; keep it for the author of the encoder. `protoc --decode` shows its content.',
  },
  packet_too_large: {
    when: 'One packet is larger than 256 KiB (`BIO_PACKET_BYTES_MAX`).',
    act: 'Send shorter packets: how the samples are cut into packets does not change the results.',
  },
  packet_schema_version: {
    when: 'The device is newer than the service, or `schema_version` was never set.',
    act: 'Upgrade the service first, then the devices. Every version ever released is accepted.',
  },
  packet_invalid: {
    when: 'A field is out of range: a rate of 0, a block longer than an hour, a `device_id` with characters that are not allowed, text with a control character, or a user whom this credential may not record.',
    act: '`detail` names the field, or its byte, with its value and the limit.',
  },
  packet_clock: {
    when: 'The samples would lie before the year 2000 or more than 600 s in the future: the wall clock was never set, or seconds were sent instead of nanoseconds. A recording that states when it was made (`recorded_unix_ns`) may lie anywhere from 1900 to 2199.',
    act: 'Set the clock, or leave `t0_unix_ns` and `sent_unix_ns` at 0. For the rest of this boot the stream keeps its epoch.',
  },
  packet_conflict: {
    when: 'The device used a sequence number of this boot for two different packets, most often after a restart that kept `boot_id` but lost the counter; or two devices have the same id and boot. `t0_device_ns`, `subject`, blocks, measurements and events are compared byte by byte; `sent_unix_ns`, `t0_unix_ns` and `firmware` may differ between attempts.',
    act: 'Use a new `boot_id` whenever the sampling clock or the counter restarts. The first packet is kept; the samples of this one can be sent again under an unused sequence number. Operators find the conflict in the audit log as `packet.conflict`, once per stream and minute.',
  },
  channel_limit: {
    when: 'More than 64 different channel descriptions in one boot: a gain or a unit that changes from packet to packet.',
    act: 'Describe each channel once and do not change it. Send physical values as float samples with gain 1.',
  },
  rate_limited: {
    when: 'More requests or packets than one credential or device may send per second (`BIO_REQUESTS_PER_SEC_MAX`, `BIO_DEVICE_PACKETS_PER_SEC_MAX`); a socket that ignores its window; more open sockets or newly opened streams than one user or key may have (`BIO_USER_INGEST_SOCKETS_MAX`, `BIO_USER_LIVE_SOCKETS_MAX`, `BIO_USER_STREAMS_PER_MIN_MAX`, `BIO_KEY_INGEST_SOCKETS_MAX`, `BIO_KEY_LIVE_SOCKETS_MAX`, `BIO_KEY_STREAMS_PER_MIN_MAX`); data of more days of the past than one may begin to send, or measurements of more months; or too many requests with a wrong credential. `detail` says which.',
    act: 'Wait for `Retry-After` seconds. Nothing was kept or done: send the same request again. Put more samples into a packet and more packets into a batch.',
  },
  busy: {
    when: 'A queue of the service is full, and it takes no more in order to keep what it has already accepted. Or the first request with this `Idempotency-Key` is still being answered.',
    act: 'Of packets nothing was kept: wait for `Retry-After` seconds and send the same request again. Operators: `/metrics` shows which queue is full, `/readyz` what is waiting.',
  },
  unavailable: {
    when: 'The database, or another part that this request needs, is unavailable; or this instance is on standby while another one takes the packets.',
    act: 'Send the same request again later. Of packets nothing was kept; another request may have done part of its work already, or all of it. Operators: `/readyz` and `biosignal doctor` name the part.',
  },
  shutting_down: {
    when: 'The service is being restarted or upgraded. Everything acknowledged is stored.',
    act: 'Reconnect after a moment and resend everything that was not settled.',
  },
  slow_consumer: {
    when: 'Frames had to be skipped for this viewer for 30 s (`BIO_VIEWER_SLOW_SEC_MAX`): a slow connection, a page in the background, or a program that stopped reading.',
    act: 'Reconnect; ask for fewer channels or a lower rate (`max_rate_hz`). Nothing is missing from the database.',
  },
  replay_too_old: {
    when: 'Frames are kept for about 60 s; those requested with `after` are gone.',
    act: 'Continue live, and read the missing samples from `/api/v1/streams/{streamId}/samples`.',
  },
  internal: {
    when: 'A bug in the service.',
    act: 'Send the same request again once. If it fails again, give the `request_id` to the operator: the log has it, with the cause.',
  },
};
