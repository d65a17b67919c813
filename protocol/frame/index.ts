export * from './headers.ts';
export * from './messages.ts';
