/** Words of the report for requests and answers. Secrets never appear in them. */
import type { Answer, Ask } from './client.ts';

const SHOWN_MAX = 160;

/** Replaces terminal control characters. */
export function printable(text: string): string {
  // oxlint-disable-next-line no-control-regex
  return text.replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, '·');
}

/** @param said taken from an answer, so it may be anything */
export function shown(said: unknown): string {
  const clean = printable(typeof said === 'string' ? said : (JSON.stringify(said) ?? ''));
  return clean.length > SHOWN_MAX ? `${clean.slice(0, SHOWN_MAX)}…` : clean;
}

export function sentWords({ method, path, as, body, bytes, headers }: Ask): string {
  const parts = [`${method} ${shown(path)} as ${as.name}`];
  const told = Object.entries(headers ?? {}).map(([name, value]) => `${name}: ${shown(value)}`);
  if (told.length > 0) parts.push(told.join(', '));
  if (body !== undefined) parts.push(shown(typeof body === 'string' ? body : JSON.stringify(body)));
  if (bytes !== undefined) parts.push(`${bytes.length} bytes`);
  return parts.join('; ');
}

export function gotWords(answer: Answer): string {
  const { status, code, headers } = answer;
  if (code !== '') return `${status} ${code}: ${shown((answer.json as { detail?: unknown }).detail ?? '')}`;
  const type = (headers.get('content-type') ?? '').split(';')[0] ?? '';
  return [status, type === '' ? '' : `${type}, ${answer.bytes.length} bytes`].filter((part) => part !== '').join(' ');
}

export function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const inner = error.cause instanceof Error ? causeOf(error.cause) : '';
  return inner === '' ? error.message || error.name : inner;
}
