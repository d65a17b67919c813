// Which folder may import which, as rules of the linter. The table is DESIGN section 4: a change there is made here.
import { relative, resolve, dirname, sep } from 'node:path';

/**
 * Folder -> what it may import besides itself and packages. An entry that ends in `.ts` is that one file; one that
 * begins with `type ` may be imported for its types alone.
 */
export const arrows = {
  protocol: [],
  'src/config': ['protocol'],
  'src/net': ['protocol', 'src/config'],
  'src/gateway': ['protocol', 'src/net'],
  'src/link': ['protocol', 'src/net'],
  // The gateway's ports are what control implements for it; link's are what it speaks to link by.
  'src/control': [
    'protocol',
    'src/net',
    'src/link/index.ts',
    'type src/link/ports.ts',
    'type src/gateway/ports.ts',
  ],
  'src/observe': [],
  'src/admin': ['src/control/index.ts', 'type src/control/ports.ts', 'src/observe'],
  'src/cli': ['protocol', 'src/config', 'src/net'],
};

/** Every folder of src may publish on the channels. */
const channels = 'src/observe/channels.ts';

/** The composition root and the entry wire all parts together. */
const roots = ['src/app.ts', 'src/bin.ts'];

/** The oracle of the differential suite: a dev dependency, so product code that loads it would break the image. */
const library = '@platformatic/kafka';
const libraryHomes = ['test'];

const inside = (file, folder) => file === folder || file.startsWith(`${folder}/`);

const folderOf = (file) => Object.keys(arrows).find((folder) => inside(file, folder));

/** What is wrong with `from` importing `to` (both relative to the repository, with slashes), or undefined. */
export function judge(from, to, typeOnly) {
  const home = folderOf(from);
  if (home === undefined) {
    const product = inside(from, 'src') && !roots.includes(from);
    return product
      ? `${from} lies in no folder of the table; only ${roots.join(' and ')} stand at the top of src`
      : undefined;
  }
  if (inside(to, home)) return undefined;
  if (inside(home, 'src') && to === channels) return undefined;
  for (const entry of arrows[home]) {
    const [allowed, types] = entry.startsWith('type ') ? [entry.slice(5), true] : [entry, false];
    if (inside(to, allowed)) {
      return types && !typeOnly
        ? `${home} may import ${allowed} for its types only: write "import type"`
        : undefined;
    }
  }
  const may = arrows[home].length === 0 ? 'nothing of ours' : arrows[home].join(', ');
  return `${home} must not import ${to}; it may import: ${may}`;
}

function isTypeOnly(node) {
  if (node.type === 'TSImportType') return true;
  if (node.importKind === 'type' || node.exportKind === 'type') return true;
  const specifiers = node.specifiers ?? [];
  return (
    specifiers.length > 0 && specifiers.every((one) => one.importKind === 'type' || one.exportKind === 'type')
  );
}

function everyImport(context, visit) {
  const look = (node, source) => {
    if (typeof source?.value === 'string') visit(node, source.value, isTypeOnly(node));
  };
  return {
    ImportDeclaration: (node) => look(node, node.source),
    ExportNamedDeclaration: (node) => look(node, node.source),
    ExportAllDeclaration: (node) => look(node, node.source),
    ImportExpression: (node) => look(node, node.source),
    TSImportType: (node) => look(node, node.source ?? node.argument?.literal ?? node.argument),
  };
}

const fromRoot = (context, file) => relative(context.cwd, file).split(sep).join('/');

const importArrows = {
  create(context) {
    const from = fromRoot(context, context.filename);
    return everyImport(context, (node, specifier, typeOnly) => {
      if (!specifier.startsWith('.')) return;
      const to = fromRoot(context, resolve(dirname(context.filename), specifier));
      const message = judge(from, to, typeOnly);
      if (message !== undefined) context.report({ node, message });
    });
  },
};

const libraryHome = {
  create(context) {
    const from = fromRoot(context, context.filename);
    return everyImport(context, (node, specifier) => {
      if (!inside(specifier, library) || libraryHomes.some((home) => inside(from, home))) return;
      context.report({ node, message: `${library} is imported in ${libraryHomes.join(' and ')} only` });
    });
  },
};

export default {
  meta: { name: 'isthmus' },
  rules: { 'import-arrows': importArrows, 'library-home': libraryHome },
};
