import { type Document, isScalar, visit, type YAMLError } from 'yaml';

export interface SyntaxFault {
  readonly at: number;
  readonly message: string;
}

/**
 * What keeps a text from being YAML: one fault for each line, in our words. Where the parser lost its way it complains
 * of every word that follows; only the first is told then.
 */
export function syntaxFaults(document: Document, errors: readonly YAMLError[], text: string): SyntaxFault[] {
  const faults: SyntaxFault[] = [];
  const lines = new Set<number>();
  for (const error of errors) {
    const at = placeOf(error, document);
    if (error.code === 'RESOURCE_EXHAUSTION') return [{ at, message: 'nested too deeply to be read' }];
    const isLost = error.code === 'UNEXPECTED_TOKEN' && error.message.includes('in YAML stream');
    const line = text.lastIndexOf('\n', at - 1);
    if (lines.has(line) || (isLost && faults.length > 0)) continue;
    lines.add(line);
    faults.push({ at, message: words(error, text) });
  }
  return faults;
}

/** Of a quote that is never closed the parser names the end of the file; people look for its beginning. */
function placeOf(error: YAMLError, document: Document): number {
  if (!isOpenQuote(error)) return error.pos[0];
  let start = error.pos[0];
  visit(document, (_key, node) => {
    if (!isScalar(node) || !node.type?.startsWith('QUOTE')) return;
    if (node.range !== null && node.range !== undefined && node.range[1] >= error.pos[0])
      [start] = node.range;
  });
  return start;
}

function isOpenQuote({ code, message }: YAMLError): boolean {
  return code === 'MISSING_CHAR' && /quote/.test(message);
}

function words(error: YAMLError, text: string): string {
  const { code } = error;
  const message = error.message.split('\n')[0]?.trim() ?? error.message;
  switch (code) {
    case 'TAB_AS_INDENT':
      return 'a tab indents this line; YAML wants blanks';
    case 'BAD_SCALAR_START':
      return `a value does not begin with ${text[error.pos[0]] ?? 'this'}; put it in quotes`;
    case 'BAD_DQ_ESCAPE':
      return `${message}; write \\\\ for a backslash, or use single quotes`;
    case 'MULTILINE_IMPLICIT_KEY':
      return 'KEY: VALUE is expected here, with a blank after the colon and the indentation of the lines around';
    case 'BLOCK_AS_IMPLICIT_KEY':
      return 'this line has two keys, or a value that holds ": "; put such a value in quotes';
    case 'BAD_INDENT':
      return /end with a ([\]}])/.test(message)
        ? 'a bracket or brace that was opened above is not closed before this place'
        : 'this line is indented otherwise than the lines it belongs to';
    case 'MISSING_CHAR':
      if (isOpenQuote(error)) return 'this quote is not closed';
      if (/- indicator/.test(message)) {
        return 'this line belongs to no entry of the list; indent it as its entry, or begin one with "- "';
      }
      return /,/.test(message)
        ? 'a comma is missing here; a value with brackets, braces or commas stands in quotes'
        : message;
    case 'UNEXPECTED_TOKEN':
      if (text[error.pos[0] - 1] === '$')
        return 'inside of { } and [ ] a reference stands in quotes: "${env:NAME}"';
      return message.includes('in YAML stream')
        ? 'this belongs to nothing; a bracket, brace or quote before it is one too many or missing'
        : 'the value before this has ended; one with brackets, braces or commas stands in quotes';
    default:
      return message;
  }
}
