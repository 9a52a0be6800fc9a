/** The part of a pino logger that the units use, and the parts of an error that may be logged. */
type Write = (fields: object, message: string) => void;
export type Logger = Readonly<{ debug: Write; info: Write; warn: Write; error: Write }>;

const CAUSES_MAX = 4;

/** Picks the parts of an error to log: kind, code, message, stack, causes. Nothing else, because errors of the database carry rows
 *  (`detail`), statements, and connections with their keys; and no quoted value, because their messages quote input ("invalid input syntax
 *  for type uuid: \"...\"). Names of tables, columns and constraints are quoted too, but those are in fields of their own. */
export function describeError(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return typeof error === 'object' && error !== null ? { type: 'object' } : withoutValues(String(error));
  const { code, severity, table, column, constraint, routine, cause } = error as Error & Record<string, unknown>;
  const message = severity === undefined ? error.message : withoutValues(error.message);
  return {
    type: error.constructor.name,
    message,
    ...(typeof code === 'string' ? { code } : {}),
    ...textFields({ table, column, constraint, routine }),
    stack: error.stack?.replace(error.message, () => message),
    ...(cause === undefined || depth >= CAUSES_MAX ? {} : { cause: describeError(cause, depth + 1) }),
  };
}

function withoutValues(text: string): string {
  return text.replaceAll(/"[^"]*"/g, '"…"');
}

function textFields(fields: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}
