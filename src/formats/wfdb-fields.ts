/** Fields of WFDB headers: checks names, integers and decimals. */
import { isRejected, PipelineError, rejected } from '../errors.ts';
import type { Rejected } from '../errors.ts';

export function bad(detail: string): Rejected {
  return rejected('validation_failed', detail);
}

export function orThrow<T extends object>(value: T | Rejected, path: string): T {
  if (isRejected(value)) throw new PipelineError(value.code, `${path}: ${value.detail}`);
  return value;
}

/** A name without a path: letters, digits, `_ - .`, beginning with a letter or digit. */
export function plainName(name: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/.test(name);
}

export function integer(field: string | undefined, min: number, max: number): number | null {
  if (field === undefined || !/^[+-]?\d{1,10}$/.test(field)) return null;
  const value = Number(field);
  return value >= min && value <= max ? value : null;
}

export function decimal(field: string | undefined): number | null {
  if (field === undefined || field.length > 32 || !/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,2})?$/.test(field)) return null;
  const value = Number(field);
  return Number.isFinite(value) ? value : null;
}

/** Digits without an exponent, as header readers expect. */
export function plainDecimal(value: number): string {
  return Number.isInteger(value) ? String(value) : value.toFixed(9).replace(/0+$/, '');
}

export function nanoHz(fs: number): number {
  return Math.round(fs * 1e9);
}

export function short(field: string | undefined): string {
  return (field ?? '').slice(0, 40);
}
