/** The part of a pino logger that the units use. */
type Write = (fields: object, message: string) => void;
export type Logger = Readonly<{ debug: Write; info: Write; warn: Write; error: Write }>;
