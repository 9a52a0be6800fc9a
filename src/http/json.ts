/** JSON as the API writes it: bigint becomes integer digits, to the last one. */

/** Writes a value as JSON. `ts_ns` and its like exceed 2^53, so they travel as bigint and are written digit by digit. NaN becomes null. */
export function writeJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? 'null'; // a replacer is called for every member, and most answers have no bigint
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return JSON.stringify(value, bigintDigits) ?? 'null';
  }
}

type RawJson = typeof JSON & { rawJSON: (text: string) => object };

function bigintDigits(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? (JSON as RawJson).rawJSON(value.toString()) : value;
}
