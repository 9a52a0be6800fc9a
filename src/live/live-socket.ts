/** WebSocket /ws?subject=: live frames of one subject as binary messages, JSON text in band.
 *
 *  From the client: {"type":"auth","token"}, {"type":"subscribe","channels"?,"max_rate_hz"?}, {"type":"replay","after"},
 *  {"type":"ping","id"?}. From the service: ready, auth, subscribed, replay {status: ok | too_old}, pong, error. docs/wire-format.md
 *  describes them all. */
import { Type } from 'typebox';
import type { Static, TObject } from 'typebox';
import { PipelineError } from '../errors.ts';
import { defineSocket } from '../http/route.ts';
import type { PeerSocket, RequestContext, SocketHandlers, SocketRoute } from '../http/route.ts';
import type { SubjectId } from '../signal.ts';
import { WINDOW_MS } from './frame-clock.ts';
import type { ViewerGroup } from './viewer-group.ts';
import type { Hub } from './hub.ts';
import { Outbox } from './outbox.ts';
import type { Caller } from '../caller.ts';

const TEXT_BYTES_MAX = 16 * 1024; // a token of 8 KiB and its wrapping
/** Bound of one frame, bytes: more than every channel of a subject needs. */
const FRAME_BYTES_MAX = 1 << 20;
const SELECTION_MAX = 64;
const NAME = /^[a-z0-9][a-z0-9._-]{0,31}$/;
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
  /** Called when a viewer begins to see the frames of a person. @returns to be called when they no longer do */
  watched?: ((caller: Caller, subjectId: SubjectId, from: From) => () => void) | undefined;
  countViewers?: (delta: 1 | -1) => void;
  /** Gets the last frames from the node that has them, before the first viewer of a selection joins. null: they are here. Never rejects */
  fetchFrames?: ((subjectId: SubjectId, selection: string) => Promise<void> | null) | undefined;
}>;

const query = {
  subject: Type.String({ minLength: 1, maxLength: 256, description: 'uuid or external id of the user.' }),
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

class Viewer implements SocketHandlers {
  readonly #options: LiveSocketOptions;
  readonly #outbox: Outbox;
  #caller: Caller;
  readonly #from: From;
  #unwatch: (() => void) | null = null;
  #subjectId: SubjectId | null = null;
  #group: ViewerGroup | null = null;
  #closed = false;
  #selection = '';
  #intervalMs = 0;
  #messages = MESSAGES_BURST;
  #messagesMs = 0;

  constructor(options: LiveSocketOptions, request: ViewRequest, peer: PeerSocket) {
    this.#options = options;
    this.#caller = { ...request.caller }; // its own object: request-scope.ts notes by it which person it sees
    this.#from = { remoteAddress: request.remoteAddress, requestId: request.requestId };
    this.#outbox = new Outbox(peer, options.viewerQueueBytesMax, request.caller.kind === 'user');
    const { subject, channels, after } = request.query;
    if (channels !== undefined) this.#selection = selectionOf(channels.split(','));
    options.countViewers?.(1);
    if (request.caller.kind === 'user' && request.caller.subjectId === subject) this.#begin(subject as SubjectId, after);
    else {
      options.resolveSubject(this.#caller, subject).then(
        (found) => this.#begin(found, after),
        (error: unknown) => this.#fail(error),
      );
    }
  }

  #begin(subjectId: SubjectId | null, after: number | undefined): void {
    if (this.#closed) return;
    if (subjectId === null) {
      this.#outbox.peer.close('not_found', 'No such subject.');
      return;
    }
    this.#subjectId = subjectId;
    this.#watch(subjectId);
    this.#tell({ type: 'ready', subject: subjectId, window_ms: WINDOW_MS });
    const fetching = this.#options.fetchFrames?.(subjectId, this.#selection) ?? null;
    if (fetching === null) this.#join(subjectId, after);
    else void fetching.then(() => this.#join(subjectId, after));
  }

  #join(subjectId: SubjectId, after: number | undefined): void {
    if (this.#closed) return;
    this.#group = this.#options.hub.join(subjectId, this.#outbox, this.#selection, this.#intervalMs);
    if (after !== undefined) this.#replay(after);
  }

  /** Notes the view under the credential that keeps it open. */
  #watch(subjectId: SubjectId): void {
    this.#unwatch?.();
    this.#unwatch = this.#options.watched?.(this.#caller, subjectId, this.#from) ?? null;
  }

  text(text: string): void {
    if (!this.#mayTalk()) {
      this.#outbox.peer.close('rate_limited', `More than ${MESSAGES_PER_SEC} messages per second.`);
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
        this.#tell({ type: 'pong', time_ms: Date.now(), ...(typeof id === 'string' || typeof id === 'number' ? { id } : {}) });
      else if (type === 'auth' && typeof token === 'string') this.#authenticate(token);
      else if (type === 'subscribe') this.#subscribe(channels, maxRateHz);
      else if (type === 'replay' && typeof after === 'number' && Number.isSafeInteger(after) && after >= 0) this.#replay(after);
      else this.#error('bad_request', 'type must be auth, subscribe, replay or ping, with its fields');
    } catch (error) {
      if (!(error instanceof PipelineError)) throw error;
      this.#error(error.code, error.message);
    }
  }

  drain(): void {
    if (this.#group !== null) this.#options.hub.resume(this.#outbox, this.#group, performance.now());
  }

  closed(): void {
    this.#closed = true;
    this.#unwatch?.();
    this.#options.countViewers?.(-1);
    if (this.#group !== null) this.#options.hub.leave(this.#outbox, this.#group);
    this.#group = null;
  }

  /** The socket stays open when the new token is refused, and closes when the old one expires. The token of another person closes it. */
  #authenticate(token: string): void {
    this.#outbox.peer.authenticate(token).then(
      (caller) => {
        this.#caller = { ...caller };
        if (this.#subjectId !== null && !this.#closed) this.#watch(this.#subjectId);
        this.#tell({ type: 'auth', expires_at_ms: caller.kind === 'user' ? caller.expiresAtMs : null });
      },
      (error: unknown) => {
        if (error instanceof PipelineError) this.#error(error.code, error.message);
        else this.#fail(error);
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
    if (this.#subjectId !== null && this.#group !== null) {
      this.#options.hub.leave(this.#outbox, this.#group);
      this.#group = this.#options.hub.join(this.#subjectId, this.#outbox, this.#selection, this.#intervalMs);
    }
    const rateHz = this.#intervalMs === 0 ? null : 1000 / this.#intervalMs;
    this.#tell({ type: 'subscribed', channels: this.#selection === '' ? null : this.#selection.split(','), max_rate_hz: rateHz });
  }

  #replay(after: number): void {
    if (this.#group === null) return;
    const oldest = this.#group.ring.oldestSeq;
    // Sent before the frames: the count is of frames stored now.
    const held = this.#options.hub.replayable(this.#group, after);
    if (held === null) {
      this.#tell({ type: 'replay', status: 'too_old', code: 'replay_too_old', oldest_seq: Number.isFinite(oldest) ? oldest : null });
      return;
    }
    this.#tell({ type: 'replay', status: 'ok', frames: held });
    if (held > 0) this.#options.hub.replay(this.#outbox, this.#group, after);
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
    if (!this.#closed) this.#outbox.peer.sendText(JSON.stringify(message));
  }

  #error(code: string, detail: string): void {
    this.#tell({ type: 'error', code, detail });
  }

  #fail(error: unknown): void {
    if (this.#closed) return;
    if (error instanceof PipelineError) this.#outbox.peer.close(error.code, error.message);
    else this.#outbox.peer.close('internal', 'The subject could not be looked up.');
  }
}

/** Sorts and removes repeats, so that viewers of the same channels share their frames.  @throws PipelineError validation_failed */
function selectionOf(names: readonly string[]): string {
  const wanted = [...new Set(names.map((name) => name.trim()).filter((name) => name !== ''))].sort();
  if (wanted.length > SELECTION_MAX) throw new PipelineError('validation_failed', `more than ${SELECTION_MAX} channels`);
  const bad = wanted.find((name) => !NAME.test(name));
  if (bad !== undefined) throw new PipelineError('validation_failed', `'${bad.slice(0, 40)}' is no channel code or kind`);
  return wanted.join(',');
}
