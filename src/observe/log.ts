import { pino } from 'pino';
import * as channels from './channels.ts';

/**
 * What the channels tell, as lines on standard error: JSON (pino) for machines, one readable line for a terminal.
 * Routine of single connections is `debug`; a named end that means trouble is `warn`.
 */
export type Level = 'debug' | 'info' | 'warn' | 'error';
export type Fields = Readonly<Record<string, unknown>>;

export interface Log {
  write(level: Level, message: string, fields?: Fields): void;
}

export interface LogOptions {
  /** Lowest level shown. */
  readonly level: Level;
  readonly style: 'json' | 'text';
  /** Where whole lines go, each with its line end. */
  readonly sink: (line: string) => void;
  readonly color?: boolean;
}

const RANK: Readonly<Record<Level, number>> = { debug: 20, info: 30, warn: 40, error: 50 };
const ROUTINE_ENDS = new Set(['local-close', 'peer-closed', 'shutdown', 'idle-timeout', 'upstream-closed']);

export function createLog(options: LogOptions): Log {
  if (options.style === 'json') {
    const logger = pino(
      { level: options.level, base: { pid: process.pid }, timestamp: pino.stdTimeFunctions.isoTime },
      { write: options.sink },
    );
    return { write: (level, message, fields) => logger[level](fields ?? {}, message) };
  }
  return {
    write(level, message, fields) {
      if (RANK[level] < RANK[options.level]) return;
      options.sink(`${textLine(level, message, fields ?? {}, options.color ?? false)}\n`);
    },
  };
}

/** Subscribes to every channel. @returns a function that ends it */
export function logChannels(log: Log): () => void {
  const ends = [
    channels.lifecycle.subscribe(({ level, message, fields }) => log.write(level, message, fields)),
    channels.gatewayNotice.subscribe(({ level, message, gateway }) => log.write(level, message, { gateway })),
    channels.gatewayRefused.subscribe((refused) => log.write('info', 'request refused', { ...refused })),
    channels.partitionStateChanged.subscribe((change) => {
      const level = change.to === 'FAILED' ? 'error' : 'info';
      log.write(level, `${change.topic}-${change.partition} is ${change.to}`, { ...change });
    }),
    channels.appendUnclear.subscribe((event) =>
      log.write('warn', 'outcome of an append is not known', { ...event }),
    ),
    channels.appendSettled.subscribe((event) =>
      log.write('info', 'outcome of an append was settled', { ...event }),
    ),
    channels.tailLost.subscribe((event) =>
      log.write('error', 'the destination lost the end of a mirrored partition; it is mirrored again', {
        ...event,
      }),
    ),
    channels.audit.subscribe((line) => {
      const what = `${line.dryRun ? 'dry run of ' : ''}${line.verb} ${line.mirror}`;
      log.write('info', `audit: ${what} ${line.outcome}`, { ...line });
    }),
    channels.syncError.subscribe((event) =>
      log.write('warn', `${event.task}: ${event.message}`, { mirror: event.mirror }),
    ),
    channels.connectionRefused.subscribe((event) => log.write('warn', 'connection refused', { ...event })),
    channels.connectionOpened.subscribe((event) => log.write('debug', 'connection opened', { ...event })),
    channels.connectionClosed.subscribe((event) => {
      const level = ROUTINE_ENDS.has(event.cause) || event.side !== 'client' ? 'debug' : 'warn';
      log.write(level, `connection ended: ${event.cause}`, { ...event });
    }),
  ];
  return () => {
    for (const end of ends) end();
  };
}

const COLORS: Readonly<Record<Level, string>> = { debug: '90', info: '36', warn: '33', error: '31' };

function textLine(level: Level, message: string, fields: Fields, color: boolean): string {
  const time = new Date().toISOString().slice(11, 19);
  const tag = level.toUpperCase().padEnd(5);
  const shown = color ? `\u001b[${COLORS[level]}m${tag}\u001b[0m` : tag;
  const rest = Object.entries(fields)
    .filter(([, value]) => value !== null && value !== undefined && value !== '')
    .map(([key, value]) => `${key}=${typeof value === 'string' ? quoted(value) : JSON.stringify(value)}`)
    .join(' ');
  return `${time} ${shown} ${message}${rest === '' ? '' : `  ${rest}`}`;
}

function quoted(text: string): string {
  return /[\s"=]/.test(text) ? JSON.stringify(text) : text;
}
