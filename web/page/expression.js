// The filter of a table as an expression: words, comparisons, and, or, not, parentheses. For example
//
//	model.kind=slds and optim.rate>0.001
//	(fhn or maze) not failed
//
// A word is part of the name, the preset, the state, a tag or what was changed; a~b asks whether b is part of a. A
// comparison is true of no run without a value.

// Mistake is what an expression ends with that cannot be read; at is the place in it.
export class Mistake extends Error {
  constructor(message, at, end) { super(message); Object.assign(this, { at, end }); }
}

const operators = { '=': (a, b) => a === b, '!=': (a, b) => a !== b, '>': (a, b) => a > b, '>=': (a, b) => a >= b, '<': (a, b) => a < b, '<=': (a, b) => a <= b };

// tokens of an expression: {kind, text, at, end}.
function tokens(source) {
  const pattern = /\s*(?:("(?:[^"\\]|\\.)*")|(\(|\))|(&&|\|\||!(?!=))|(==|!=|>=|<=|=|>|<|~)|([^\s()=<>!~"&|]+))/y;
  const list = [];
  while (pattern.lastIndex < source.length) {
    const from = pattern.lastIndex;
    if (!source.slice(from).trim()) break;
    const m = pattern.exec(source);
    if (!m) {
      const at = from + source.slice(from).search(/\S/);
      throw new Mistake(source[at] === '"' ? 'a quote is not closed' : `“${source[at]}” means nothing here`, at, at + 1);
    }
    const end = pattern.lastIndex;
    const at = end - m[0].trimStart().length;
    const kind = m[1] ? 'text' : m[2] ?? (m[3] ? 'logic' : m[4] ? 'operator' : 'word');
    const words = { and: 'and', or: 'or', not: 'not', '&&': 'and', '||': 'or', '!': 'not' };
    const logic = (m[3] && words[m[3]]) ?? (m[5] && words[m[5].toLowerCase()]);
    list.push({ kind: logic ?? kind, text: m[1] ? m[1].slice(1, -1).replace(/\\(.)/g, '$1') : m[0].trim(), at, end });
  }
  return list;
}

// parse reads an expression. It returns a function that says whether a run passes. key(name) is the value of a column as
// a function, or undefined; near(name) is the most similar one; words(run) is the text that words are looked for in.
export function parse(source, { key, near, words }) {
  const list = tokens(source);
  let i = 0;
  const is = (kind) => list[i]?.kind === kind;
  const end = { at: source.length, end: source.length };

  const either = () => {
    let left = both();
    while (is('or')) {
      i++;
      const [a, b] = [left, both()];
      left = (r) => a(r) || b(r);
    }
    return left;
  };
  const both = () => {
    let left = single();
    while (list[i] && !is('or') && !is(')')) {
      if (is('and')) i++;
      const [a, b] = [left, single()];
      left = (r) => a(r) && b(r);
    }
    return left;
  };
  const single = () => {
    const t = list[i++];
    if (!t) throw new Mistake(list.length ? `after “${list.at(-1).text}” something is missing` : 'something is missing', end.at, end.end);
    if (t.kind === 'not') { const inner = single(); return (r) => !inner(r); }
    if (t.kind === '(') {
      const inner = either();
      if (!is(')')) throw new Mistake('a parenthesis is not closed', t.at, t.end);
      i++;
      return inner;
    }
    if (t.kind !== 'word' && t.kind !== 'text') throw new Mistake(`“${t.text}” needs something before it`, t.at, t.end);
    if (is('operator')) return comparison(t, list[i++]);
    const word = t.text.toLowerCase();
    return (r) => words(r).includes(word);
  };
  const comparison = (name, operator) => {
    const value = key(name.text);
    if (!value) {
      const similar = near(name.text);
      throw new Mistake(`there is no column ${name.text}${similar ? `; did you mean ${similar}?` : ''}`, name.at, name.end);
    }
    const t = list[i++];
    if (!t || (t.kind !== 'word' && t.kind !== 'text')) throw new Mistake(`${name.text}${operator.text} needs a value`, operator.at, operator.end);
    return compared(value, operator.text, t, name);
  };
  const compared = (value, operator, t, name) => {
    if (operator === '~') {
      const part = t.text.toLowerCase();
      return (r) => String(value(r) ?? '').toLowerCase().includes(part);
    }
    const test = operators[operator === '==' ? '=' : operator];
    const wanted = t.kind === 'text' || t.text.trim() === '' ? NaN : Number(t.text.replace('−', '-'));
    if (Number.isNaN(wanted) && '<>'.includes(operator[0])) throw new Mistake(`${name.text}${operator} needs a number, not “${t.text}”`, t.at, t.end);
    const low = t.text.toLowerCase();
    return (r) => {
      const v = value(r);
      if (v === undefined || v === null) return false;
      if (typeof v === 'number' && !Number.isNaN(wanted)) return test(v, wanted);
      return !'<>'.includes(operator[0]) && test(String(v).toLowerCase(), low);
    };
  };

  if (list.length === 0) return () => true;
  const passes = either();
  if (list[i]) throw new Mistake(`“${list[i].text}” has no parenthesis to close`, list[i].at, list[i].end);
  return passes;
}

// nearest is the most similar of some words, or undefined if none is similar.
export function nearest(word, list) {
  let best;
  let least = Math.max(2, word.length / 3) + 1;
  for (const other of list) {
    const d = other.endsWith(`.${word}`) || other.endsWith(`/${word}`) ? 0.5 : distance(word.toLowerCase(), other.toLowerCase(), least);
    if (d < least) [best, least] = [other, d];
  }
  return best;
}

// distance is the number of letters to change, or a number that is not below the limit.
function distance(a, b, limit) {
  if (Math.abs(a.length - b.length) >= limit) return limit;
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) next.push(Math.min(next[j - 1] + 1, row[j] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1)));
    row = next;
  }
  return row.at(-1);
}
