/** Guards that are taken out of the service one at a time: where, what stands there and what is put in its place, and the group of checks
 *  that must see it. */

export type Plant = Readonly<{
  fault: string;
  file: string;
  edits: readonly (readonly [from: string, to: string])[];
  group: string;
}>;

export const plants: readonly Plant[] = [
  {
    fault: 'the scope of a key is not looked at',
    file: 'src/http/access.ts',
    edits: [['if (!caller.scopes.includes(needed)) {', 'if (caller.scopes.length === 0) {']],
    group: 'Credentials',
  },
  {
    fault: 'the signature of a user token is not verified',
    file: 'src/auth/user-tokens.ts',
    edits: [
      [
        'await jwtVerify(token, (header) => keyOf(keys, header), {',
        'await (async (text, _key, _rules) => { const [h, p] = text.split(".").slice(0, 2).map((part) => JSON.parse(Buffer.from(part, "base64url").toString() || "{}")); return { payload: p, protectedHeader: h }; })(token, (header) => keyOf(keys, header), {',
      ],
    ],
    group: 'Tokens and keys',
  },
  {
    fault: 'an expired user token is good for another hour',
    file: 'src/auth/user-tokens.ts',
    edits: [
      ['clockTolerance: 0,', 'clockTolerance: 3600,'],
      ['expiresAtSec: exp };', 'expiresAtSec: exp + 3600 };'],
    ],
    group: 'Sockets',
  },
  {
    fault: 'recordings of another project are read',
    file: 'src/tenancy/record-ownership.ts',
    edits: [['($3::uuid is null or s.project_id = $3) and ($4', '($3::uuid is null or true) and ($4']],
    group: 'Other people, projects and organizations',
  },
  {
    fault: 'recordings of another person are read',
    file: 'src/tenancy/record-ownership.ts',
    edits: [['($4::uuid is null or s.xuser_id = $4)`', '($4::uuid is null or true)`']],
    group: 'Other people, projects and organizations',
  },
  {
    fault: 'a duplicate is answered as accepted',
    file: 'src/ingest/post-raw-packet.ts',
    edits: [['replyOf({ accepted: 0, duplicates: 1,', 'replyOf({ accepted: 1, duplicates: 0,']],
    group: 'Ingest',
  },
  {
    fault: 'a conflict is answered as a duplicate',
    file: 'src/ingest/admit.ts',
    edits: [["if (content === 'other') return rejected(", "if (content === 'never') return rejected("]],
    group: 'Ingest',
  },
  {
    fault: 'times go through a number of 53 bits',
    file: 'src/query/sample-routes.ts',
    edits: [['t0_ns: t0Ns, gain', 't0_ns: Number(t0Ns), gain']],
    group: 'Times and numbers',
  },
  {
    fault: 'recordings are listed by when they came',
    file: 'src/query/stream-routes.ts',
    edits: [
      ["coalesce(s.ended_at, s.last_sample_at, 'infinity') >= $4", 's.started_at >= $4'],
      ['coalesce(s.recorded_from, to_timestamp(s.epoch_ns / 1e9::float8)) < $5', 's.started_at < $5'],
    ],
    group: 'Times and numbers',
  },
  {
    fault: 'a connection ends after 204 and 304',
    file: 'src/http/reply.ts',
    edits: [['if (bodiless(status)) res.endWithoutBody();', "if (bodiless(status)) res.end('', true);"]],
    group: 'Connections',
  },
  {
    fault: 'a body is taken where none is read',
    file: 'src/http/incoming.ts',
    edits: [["if (declared !== 0) throw new PipelineError('bad_request', 'This endpoint takes no body.');", '']],
    group: 'Connections',
  },
  {
    fault: 'pages of any origin may use credentials',
    file: 'src/http/cors.ts',
    edits: [
      [
        "return { 'access-control-allow-origin': '*', 'access",
        "return { 'access-control-allow-credentials': 'true', 'access-control-allow-origin': '*', 'access",
      ],
    ],
    group: 'Pages of other origins',
  },
  {
    fault: 'direct mode is accepted from every origin',
    file: 'src/http/cors.ts',
    edits: [
      [
        "if (caller.kind === 'key' && !(await allowed(caller, origin))) {",
        "if (caller.kind === 'key' && origin === 'null' && !(await allowed(caller, origin))) {",
      ],
    ],
    group: 'Pages of other origins',
  },
  {
    fault: 'If-Match is ignored',
    file: 'src/http/precondition.ts',
    edits: [
      ["if (etag !== null && (given.trim() === '*' || known.includes(etag))) return;", 'if (etag !== null && known.length > 0) return;'],
    ],
    group: 'Changes',
  },
  {
    fault: 'a repeated Idempotency-Key does its work again',
    file: 'src/http/incoming.ts',
    edits: [["if (route.idempotent !== true || key === '' || idempotency === undefined) return", 'if (idempotency !== null) return']],
    group: 'Changes',
  },
  {
    fault: 'a page begins one too far',
    file: 'src/http/page.ts',
    edits: [['const last = items.at(-1);', 'const last = rows.at(-1);']],
    group: 'Lists',
  },
  {
    fault: 'a missing consent is not looked at',
    file: 'src/tenancy/consents.ts',
    edits: [['if (!missing.includes(purpose)) return;', 'if (missing.length < 9) return;']],
    group: 'Consent and erasure',
  },
  {
    fault: 'a refusal names no methods',
    file: 'src/http/incoming.ts',
    edits: [["known && error.code === 'method_not_allowed' ? {", "known && error.code === 'internal' ? {"]],
    group: 'Errors and methods',
  },
  {
    fault: 'a socket outlives its token',
    file: 'src/http/sockets.ts',
    edits: [['for (const live of open) live.expire(nowMs);', 'for (const live of open) live.expire(nowMs - 3_600_000);']],
    group: 'Sockets',
  },
];
