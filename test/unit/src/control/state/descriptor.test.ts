import { readFileSync } from 'node:fs';
import protobuf from 'protobufjs';
import { expect, test } from 'vitest';
import { stateRecordType } from '../../../../../src/control/state/descriptor.ts';

/** Every message with its fields, sorted, as comparable text. */
function shape(type: protobuf.Type): Record<string, string[]> {
  const namespace = type.parent as protobuf.Namespace;
  const entries = namespace.nestedArray.map((nested) => {
    const message = nested as protobuf.Type;
    const fields = message.fieldsArray.map(
      (field) =>
        `${field.id} ${field.repeated ? 'repeated ' : ''}${field.type} ${field.name}${inOneof(field)}`,
    );
    return [message.name, fields.sort()] as const;
  });
  return Object.fromEntries(entries.sort(([a], [b]) => a.localeCompare(b)));
}

const inOneof = (field: protobuf.Field): string => (field.partOf === null ? '' : ` in ${field.partOf.name}`);

test('the descriptor in TypeScript says what state.proto says', () => {
  const path = new URL('../../../../../src/control/state/state.proto', import.meta.url);
  const written = protobuf.parse(readFileSync(path, 'utf8')).root.resolveAll();
  expect(shape(stateRecordType())).toEqual(shape(written.lookupType('isthmus.state.StateRecord')));
});

test('bytes written by one are read by the other', () => {
  const path = new URL('../../../../../src/control/state/state.proto', import.meta.url);
  const written = protobuf.parse(readFileSync(path, 'utf8')).root.lookupType('isthmus.state.StateRecord');
  const ours = stateRecordType();
  const value = {
    version: 1,
    ownerEpoch: 9,
    partition: { topic: 't', persistedEnd: -1, openIds: ['-5', '-7'], epochs: [{ epoch: 1, offset: 3 }] },
  };
  const options = { longs: String, defaults: true };
  expect(ours.toObject(ours.decode(written.encode(value).finish()), options)).toMatchObject({
    partition: { persistedEnd: '-1', openIds: ['-5', '-7'], epochs: [{ epoch: 1, offset: '3' }] },
  });
  expect(Buffer.from(ours.encode(value).finish())).toEqual(Buffer.from(written.encode(value).finish()));
});
