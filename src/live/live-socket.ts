/** WebSocket /ws?subject=: live frames of one subject, or of several (`also`), as binary messages, JSON text in band.
 *
 *  From the client: {"type":"auth","token"}, {"type":"subscribe","channels"?,"max_rate_hz"?}, {"type":"replay","after"},
 *  {"type":"ping","id"?}. From the service: ready, auth, subscribed, replay {status: ok | too_old}, gone, pong, error.
 *  docs/wire-format.md describes them all. */
import { Type } from 'typebox';
import type { Static, TObject } from 'typebox';
import { PipelineError } from '../errors.ts';
import { defineSocket } from '../http/route.ts';
import type { PeerSocket, RequestContext, SocketHandlers, SocketRoute } from '../http/route.ts';
import type { SubjectId } from '../signal.ts';
import { WINDOW_MS } from './frame-clock.ts';
import type { ViewerGroup } from './viewer-group.ts';
import { TRY_ANOTHER } from './hub.ts';
import type { Hub } from './hub.ts';
import { Outbox } from './outbox.ts';
import type { Caller } from '../caller.ts';
import { unixNowMs } from '../unix-clock.ts';

const TEXT_BYTES_MAX = 16 * 1024; // a token of 8 KiB and its wrapping
/** Bound of one frame, bytes: more than every channel of a subject needs. */
const FRAME_BYTES_MAX = 1 << 20;
const SELECTION_MAX = 64;
/** Subjects of one socket: a screen of 36 people, and room. */
const SUBJECTS_MAX = 64;
const NAME = /^[a-z0-9][a-z0-9._-]{0,31}$/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const RATE_HZ_MIN = 0.1;
/** In-band messages of one viewer: burst, and sustained rate per second. */
const MESSAGES_BURST = 50;
const MESSAGES_PER_SEC = 10;

/** The request that opened the socket, for the audit log. */
type From = Pick<RequestContext, 'remoteAddress' | 'requestId'>;

export type LiveSocketOptions = Readonly<{
  hub: Hub;
  viewerQueueBytesMax: number;
  /** Open sockets of one user over all tokens, and of one key or operator. */
  socketsMax: Readonly<{ user: number; key: number }>;
  /** uuid of the subject that a caller names by uuid or external id; null when there is none or the caller may not see it. */
  resolveSubject: (caller: Caller, subject: string) => Promise<SubjectId | null>;
  /** Called when a viewer begins to see the frames of a person, and when a new credential keeps the view open.
   *  @param foundBy the caller for whom resolveSubject found the person  @returns to be called when they no longer do */
  watched?: ((caller: Caller, subjectId: SubjectId, from: From, foundBy: Caller) => () => void) | undefined;
  countViewers?: (delta: 1 | -1) => void;
  /** Gets the last frames from the nodes that have them, before a viewer joins.  @param after those after this one are wanted; null: only
   *  new ones  @returns null: what there is is here. Never rejects */
  fetchFrames?: ((subjectId: SubjectId, selection: string, after: number | null) => Promise<void> | null) | undefined;
  /** Whether the node that makes a subject's frames can be asked for them. */
  reachesFrames?: ((subjectId: SubjectId) => boolean) | undefined;
}>;

const query = {
  subject: Type.String({ minLength: 1, maxLength: 256, description: 'uuid or external id of the user.' }),
  also: Type.Optional(
    Type.String({
      maxLength: 64 * 37,
      description: `uuids of further users, comma-separated, at most ${SUBJECTS_MAX - 1}: their frames come over the same socket.`,
    }),
  ),
  channels: Type.Optional(Type.String({ maxLength: 2048, description: 'Channel codes or kinds, comma-separated; absent: every channel.' })),
  after: Type.Optional(
    Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: 'Replay the frames after this seq first.' }),
  ),
};
type ViewRequest = RequestContext<object, Readonly<Static<TObject<typeof query>>>>;

export function liveSocketRoute(options: LiveSocketOptions): SocketRoute {
  return defineSocket({
    path: '/ws',
    operationId: 'liveFrames',
    tag: 'live',
    summary: 'Live frames of one subject, ten per second',
    access: { key: 'read', userToken: 'own', operator: 'viewer' },
    query,
    protocol: 'bio.v1',
    messageBytesMax: TEXT_BYTES_MAX,
    socketsMax: options.socketsMax,
    // uWS silently drops everything above this, even its close frame; the outbox stops long before that, after one more frame.
    backpressureBytesMax: 4 * options.viewerQueueBytesMax + FRAME_BYTES_MAX,
    open: (request, peer) => new Viewer(options, request, peer),
  });
}

/** One subject on a socket. Its caller is its own object: request-scope.ts notes by it which person it sees. */
type View = {
  caller: Caller;
  /** The caller for whom the person was found. A credential sent in band later is of a caller who may see the same. */
  foundBy: Caller;
  readonly outbox: Outbox;
  unwatch: (() => void) | null;
  subjectId: SubjectId | null;
  /** null: it waits for frames of another node. */
  group: ViewerGroup | null;
  /** What is to be replayed once it has joined; null: nothing. */
  after: number | null;
};

class Viewer implements SocketHandlers {
  readonly #options: LiveSocketOptions;
  readonly #peer: PeerSocket;
  readonly #views: readonly View[];
  /** With several, one that may not be seen is said in band; with one, the socket closes. */
  readonly #isMany: boolean;
  readonly #from: From;
  #closed = false;
  #selection = '';
  #intervalMs = 0;
  #messages = MESSAGES_BURST;
  #messagesMs = 0;

  constructor(options: LiveSocketOptions, request: ViewRequest, peer: PeerSocket) {
    this.#options = options;
    this.#peer = peer;
    this.#from = { remoteAddress: request.remoteAddress, requestId: request.requestId };
    const { subject, also, channels, after } = request.query;
    const subjects = [...new Set([subject, ...(also === undefined ? [] : furtherSubjects(also))])];
    this.#isMany = also !== undefined;
    if (channels !== undefined) this.#selection = selectionOf(channels.split(','));
    this.#views = subjects.map((one) => this.#viewOf(request.caller, one));
    options.countViewers?.(1);
    for (const [i, view] of this.#views.entries()) this.#open(view, subjects[i]!, after);
  }

  #viewOf(given: Caller, subject: string): View {
    const caller = { ...given };
    const peer = this.#isMany ? closingBy(this.#peer, (code) => this.#gone(view, subject, code)) : this.#peer;
    const outbox = new Outbox(peer, this.#options.viewerQueueBytesMax, caller.kind === 'user', !this.#isMany);
    const view: View = { caller, foundBy: caller, outbox, unwatch: null, subjectId: null, group: null, after: null };
    return view;
  }

  #open(view: View, subject: string, after: number | undefined): void {
    const { caller, outbox } = view;
    if (caller.kind === 'user' && caller.subjectId === subject) this.#begin(view, subject as SubjectId, after);
    else {
      const { endedCount } = this.#options.hub;
      this.#options.resolveSubject(caller, subject).then(
        (found) => {
          if (this.#closed) return;
          view.foundBy = caller;
          if (found === null) outbox.peer.close('not_found', 'No such subject.');
          else if (this.#options.hub.endedCount !== endedCount) this.#open(view, subject, after);
          else this.#begin(view, found, after);
        },
        (error: unknown) => this.#fail(view, error),
      );
    }
  }

  #begin(view: View, subjectId: SubjectId, after: number | undefined): void {
    // An external id and a uuid may name the same person; the topic would be the socket's twice.
    if (this.#views.some((other) => other.subjectId === subjectId)) return;
    if (!this.#isMany && this.#options.reachesFrames?.(subjectId) === false) {
      view.outbox.peer.close('unavailable', TRY_ANOTHER);
      return;
    }
    view.subjectId = subjectId;
    this.#watch(view);
    this.#tell({ type: 'ready', subject: subjectId, window_ms: WINDOW_MS });
    view.after ??= after ?? null;
    this.#joinWhenFetched(view);
  }

  /** Joins once the frames of another node are here, if it makes them. What changes meanwhile counts: a view that waits is in no group, so
   *  neither a new selection nor the end of the person's views reaches it there. */
  #joinWhenFetched(view: View, then: () => void = () => undefined): void {
    const { subjectId } = view;
    if (subjectId === null) return;
    const { hub } = this.#options;
    const selection = this.#selection;
    const { after } = view;
    const { endedCount } = hub;
    const join = (): void => {
      if (this.#closed || view.subjectId === null || view.group !== null) return;
      if (hub.endedCount !== endedCount) this.#joinIfSeen(view, subjectId, then);
      else if (this.#selection !== selection || view.after !== after) this.#joinWhenFetched(view, then);
      else {
        view.group = hub.join(subjectId, view.outbox, selection, this.#intervalMs);
        then();
        if (view.after !== null) this.#replay(view, view.after, true);
      }
    };
    const fetching = this.#options.fetchFrames?.(subjectId, selection, after) ?? null;
    if (fetching === null) join();
    else void fetching.then(join);
  }

  /** Joins if the caller may still see the person. */
  #joinIfSeen(view: View, subjectId: SubjectId, then: () => void): void {
    this.#options.resolveSubject(view.caller, subjectId).then(
      (found) => {
        if (this.#closed) return;
        if (found === null) view.outbox.peer.close('not_found', 'No such subject.');
        else this.#joinWhenFetched(view, then);
      },
      (error: unknown) => this.#fail(view, error),
    );
  }

  /** Notes the view under the credential that keeps it open. */
  #watch(view: View): void {
    view.unwatch?.();
    const { caller, foundBy, subjectId } = view;
    view.unwatch = subjectId === null ? null : (this.#options.watched?.(caller, subjectId, this.#from, foundBy) ?? null);
  }

  /** Ends the view of one of several. */
  #gone(view: View, subject: string, code: string): void {
    this.#leave(view);
    this.#tell({ type: 'gone', subject: view.subjectId ?? subject, code });
    view.subjectId = null;
  }

  #leave(view: View): void {
    view.unwatch?.();
    view.unwatch = null;
    if (view.group !== null) this.#options.hub.leave(view.outbox, view.group);
    view.group = null;
  }

  text(text: string): void {
    if (!this.#mayTalk()) {
      this.#peer.close('rate_limited', `More than ${MESSAGES_PER_SEC} messages per second.`);
      return;
    }
    let message: unknown;
    try {
      message = JSON.parse(text);
    } catch {
      this.#error('bad_request', 'not JSON');
      return;
    }
    const { type, token, channels, max_rate_hz: maxRateHz, after, id } = (message ?? {}) as Record<string, unknown>;
    try {
      if (type === 'ping')
        this.#tell({ type: 'pong', time_ms: unixNowMs(), ...(typeof id === 'string' || typeof id === 'number' ? { id } : {}) });
      else if (type === 'auth' && typeof token === 'string') this.#authenticate(token);
      else if (type === 'subscribe') this.#subscribe(channels, maxRateHz);
      else if (type === 'replay' && typeof after === 'number' && Number.isSafeInteger(after) && after >= 0) {
        for (const view of this.#views) this.#replay(view, after);
      } else this.#error('bad_request', 'type must be auth, subscribe, replay or ping, with its fields');
    } catch (error) {
      if (!(error instanceof PipelineError)) throw error;
      this.#error(error.code, error.message);
    }
  }

  drain(): void {
    const nowMs = performance.now();
    for (const { outbox, group } of this.#views) if (group !== null) this.#options.hub.resume(outbox, group, nowMs);
  }

  closed(): void {
    this.#closed = true;
    this.#options.countViewers?.(-1);
    for (const view of this.#views) this.#leave(view);
  }

  /** The socket stays open when the new token is refused, and closes when the old one expires. The token of another person closes it. */
  #authenticate(token: string): void {
    this.#peer.authenticate(token).then(
      (caller) => {
        for (const view of this.#views) {
          view.caller = { ...caller };
          if (!this.#closed) this.#watch(view);
        }
        this.#tell({ type: 'auth', expires_at_ms: caller.kind === 'user' ? caller.expiresAtMs : null });
      },
      (error: unknown) => {
        if (error instanceof PipelineError) this.#error(error.code, error.message);
        else if (!this.#closed) this.#peer.close('internal', 'The credential could not be checked.');
      },
    );
  }

  #subscribe(channels: unknown, maxRateHz: unknown): void {
    if (channels !== undefined && channels !== null) {
      if (!Array.isArray(channels) || !channels.every((item) => typeof item === 'string')) {
        throw new PipelineError('bad_request', 'channels must be a list of channel codes or kinds');
      }
      this.#selection = selectionOf(channels);
    } else if (channels === null) this.#selection = '';
    if (maxRateHz !== undefined) {
      if (maxRateHz !== null && (typeof maxRateHz !== 'number' || !(maxRateHz >= RATE_HZ_MIN))) {
        throw new PipelineError('bad_request', `max_rate_hz must be a number >= ${RATE_HZ_MIN}, or null`);
      }
      this.#intervalMs = maxRateHz === null || maxRateHz >= 1000 / WINDOW_MS ? 0 : 1000 / maxRateHz;
    }
    for (const view of this.#views) {
      if (view.subjectId === null || view.group === null) continue;
      this.#joinAnew(view, view.group);
    }
    const rateHz = this.#intervalMs === 0 ? null : 1000 / this.#intervalMs;
    this.#tell({ type: 'subscribed', channels: this.#selection === '' ? null : this.#selection.split(','), max_rate_hz: rateHz });
  }

  /** Goes on where it was: another node may send all frames of the selection that it has, or none for a while. */
  #joinAnew(view: View, former: ViewerGroup): void {
    const seen = former.lastSeq;
    this.#options.hub.leave(view.outbox, former);
    view.group = null;
    this.#joinWhenFetched(view, () => {
      if (view.group !== null && seen > 0) this.#options.hub.replay(view.outbox, view.group, seen);
    });
  }

  /** @param isFetched other nodes were asked for what this one does not have */
  #replay(view: View, after: number, isFetched = false): void {
    const { outbox, group, subjectId } = view;
    view.after = group === null ? after : null;
    if (group === null) return;
    const { hub, fetchFrames } = this.#options;
    // One that is being sent frames of before gets the rest of them.
    const mayAsk = !isFetched && fetchFrames !== undefined && outbox.mode !== 'replaying';
    if (mayAsk && hub.replayable(group, after) === null) {
      view.after = after;
      this.#joinAnew(view, group);
      return;
    }
    const oldest = group.ring.oldestSeq;
    const named = this.#isMany ? { subject: subjectId } : {};
    // Of several, each is held for another while: what is held of each is sent.
    const from = this.#isMany && Number.isFinite(oldest) ? Math.max(after, oldest - 1) : after;
    // Sent before the frames: the count is of frames stored now.
    const held = hub.replayable(group, from);
    if (after > group.lastSeq) hub.replay(outbox, group, after);
    if (held === null) {
      const oldestSeq = Number.isFinite(oldest) ? oldest : null;
      this.#tell({ type: 'replay', ...named, status: 'too_old', code: 'replay_too_old', oldest_seq: oldestSeq });
      return;
    }
    this.#tell({ type: 'replay', ...named, status: 'ok', frames: held });
    if (held > 0) hub.replay(outbox, group, from);
  }

  #mayTalk(): boolean {
    const nowMs = performance.now();
    this.#messages = Math.min(MESSAGES_BURST, this.#messages + ((nowMs - this.#messagesMs) / 1000) * MESSAGES_PER_SEC);
    this.#messagesMs = nowMs;
    if (this.#messages < 1) return false;
    this.#messages--;
    return true;
  }

  #tell(message: Readonly<Record<string, unknown>>): void {
    if (!this.#closed) this.#peer.sendText(JSON.stringify(message));
  }

  #error(code: string, detail: string): void {
    this.#tell({ type: 'error', code, detail });
  }

  #fail({ outbox }: View, error: unknown): void {
    if (this.#closed) return;
    if (error instanceof PipelineError) outbox.peer.close(error.code, error.message);
    else outbox.peer.close('internal', 'The subject could not be looked up.');
  }
}

/** A socket of several subjects as one of them sees it: its end is not the socket's, unless the socket is too slow. */
function closingBy(peer: PeerSocket, gone: (code: string) => void): PeerSocket {
  return {
    id: peer.id,
    sendBinary: (bytes) => peer.sendBinary(bytes),
    sendText: (text) => peer.sendText(text),
    bufferedBytes: () => peer.bufferedBytes(),
    subscribe: (topic) => peer.subscribe(topic),
    unsubscribe: (topic) => peer.unsubscribe(topic),
    authenticate: (token) => peer.authenticate(token),
    close: (code, detail) => {
      if (code === 'slow_consumer') peer.close(code, detail);
      else gone(code);
    },
  };
}

/** @throws PipelineError validation_failed */
function furtherSubjects(also: string): string[] {
  const ids = also.split(',').filter((id) => id !== '');
  if (ids.length >= SUBJECTS_MAX) throw new PipelineError('validation_failed', `more than ${SUBJECTS_MAX} subjects`);
  const bad = ids.find((id) => !UUID.test(id));
  if (bad !== undefined) throw new PipelineError('validation_failed', `'${bad.slice(0, 40)}' is no uuid`);
  return ids;
}

/** Sorts and removes repeats, so that viewers of the same channels share their frames.  @throws PipelineError validation_failed */
function selectionOf(names: readonly string[]): string {
  const wanted = [...new Set(names.map((name) => name.trim()).filter((name) => name !== ''))].sort();
  if (wanted.length > SELECTION_MAX) throw new PipelineError('validation_failed', `more than ${SELECTION_MAX} channels`);
  const bad = wanted.find((name) => !NAME.test(name));
  if (bad !== undefined) throw new PipelineError('validation_failed', `'${bad.slice(0, 40)}' is no channel code or kind`);
  return wanted.join(',');
}
