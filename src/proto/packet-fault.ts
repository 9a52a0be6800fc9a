/** Why bytes are not a packet: thrown while reading, caught by packet-decode.ts. There is only one such object, so that a flood of bad
 *  packets captures no stacks. */
export const FAULT = { offset: 0, detail: '', code: 'packet_malformed' as 'packet_malformed' | 'packet_invalid' };

export function fault(offset: number, detail: string, code: typeof FAULT.code = 'packet_malformed'): never {
  FAULT.offset = offset;
  FAULT.detail = detail;
  FAULT.code = code;
  // eslint-disable-next-line no-throw-literal
  throw FAULT;
}
