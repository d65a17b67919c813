import { resolve } from 'node:path';
import { readAdmin } from './admin-rules.ts';
import { buildAppend, buildLink, buildMirror } from './build.ts';
import { readClusters } from './cluster-rules.ts';
import { Findings } from './findings.ts';
import { readGateways } from './gateway-rules.ts';
import { isKnown } from './known.ts';
import { judgeLaterAppend, judgeLaterLink, judgeMirrors } from './mirror-rules.ts';
import { Places } from './places.ts';
import { judgePorts } from './port-rules.ts';
import {
  type AppendInput,
  appendSchema,
  configSchema,
  type LinkInput,
  linkSchema,
  type MirrorInput,
} from './schema.ts';
import { entriesOf, readShape } from './shape.ts';
import { found } from './shape-sentences.ts';
import { readState } from './state-rules.ts';
import { readText } from './text-file.ts';
import type { Config, LoadResult } from './types.ts';
import type { Entry, Tree } from './yaml-tree.ts';

const LARGEST_FILE_BYTES = 4 * 1024 * 1024;

/** Reads and checks a YAML file. Never throws for what a user wrote: every fault is in the result, with its place. */
export function load(file: string, env: NodeJS.ProcessEnv = process.env): LoadResult {
  const read = readText(resolve(file), LARGEST_FILE_BYTES);
  if (read.ok) return loadText(file, read.text, env);
  const fault = { file, line: read.line, column: 1, path: '', message: read.message };
  return { ok: false, faults: [fault], warnings: [] };
}

/**
 * As `load`, for a text at hand; `file` names it and is where `${file:...}` paths begin.
 *
 * Every check that can be made is made: each part is read by itself and is a value or `unknown`, and the rules between
 * parts judge what is known. So a fault hides no other, and none is told that the mend of another takes away.
 */
export function loadText(file: string, text: string, env: NodeJS.ProcessEnv = process.env): LoadResult {
  const places = new Places(file, text);
  const findings = new Findings(places);
  findings.add(places.faults);
  const config = places.tree === null ? null : readConfig(places.tree, findings, env);
  const { faults, warnings } = findings;
  if (faults.length > 0) return { ok: false, faults, warnings };
  if (config === null) throw new Error('the configuration was not read, and no fault is told');
  return { ok: true, config, warnings };
}

/** null when a part is unknown; its fault is told then. */
function readConfig(root: Tree, findings: Findings, env: NodeJS.ProcessEnv): Config | null {
  const top = readTop(root, findings);
  if (top === null) return null;
  const { shape } = configSchema;
  const clusters = readClusters(top.get('clusters')?.tree, findings, env);
  const mirrors = readShape(shape.mirrors, listAt(top, 'mirrors'), ['mirrors'], findings);
  const gateways = readShape(shape.gateways, listAt(top, 'gateways'), ['gateways'], findings);
  const link = readShape(linkSchema, sectionAt(top, 'link'), ['link'], findings);
  const append = readShape(appendSchema, sectionAt(top, 'append'), ['append'], findings);
  judgeLaterLink(link, ['link'], findings);
  judgeLaterAppend(append, ['append'], findings);
  if (top.has('gaps')) {
    findings.keyFault(['gaps'], 'mirroring over offset gaps comes later; remove the key');
  }
  judgeMirrors(mirrors, gateways, clusters, findings);
  const { configs, wanted } = readGateways(gateways, clusters, mirrors, findings);
  const admin = readAdmin(top.get('admin')?.tree, findings, env, wanted);
  const state = readState(top.get('state')?.tree, findings);
  judgePorts(wanted, findings);
  if (findings.faults.length > 0 || !isKnown(clusters) || state === null) return null;
  // what is unknown has a fault, so all is known here
  const whole = { mirrors: mirrors as MirrorInput[], link: link as LinkInput, append: append as AppendInput };
  return {
    file: findings.places.file,
    clusters,
    gateways: configs,
    mirrors: whole.mirrors.map((mirror) => buildMirror(mirror, whole.link, whole.append)),
    admin,
    state,
    link: buildLink(whole.link),
    append: buildAppend(whole.append),
  };
}

type Top = ReadonlyMap<string, Entry>;

function readTop(root: Tree, findings: Findings): Top | null {
  if (root.kind === 'map') return entriesOf(root, configSchema.shape, [], findings);
  if (root.kind === 'leaf' && root.value === null) {
    findings.fault([], 'the file is empty; it needs at least clusters:');
  } else if (root.kind !== 'unknown') {
    findings.fault([], `must be a map of keys and values, found ${found(root)}`);
  }
  return null;
}

/** `mirrors:` with nothing behind it is an empty list. */
function listAt(top: Top, key: string): Tree | undefined {
  const tree = top.get(key)?.tree;
  return tree?.kind === 'leaf' && tree.value === null ? undefined : tree;
}

function sectionAt(top: Top, key: string): Tree {
  return top.get(key)?.tree ?? { kind: 'map', at: 0, entries: new Map() };
}
