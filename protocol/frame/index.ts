export * from './headers.ts';
export * from './messages.ts';
export * from './splitter.ts';
