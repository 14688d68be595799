// Reads the part of YAML that action.yml uses: maps and lists by indentation, and plain or quoted words on one line. Anything else is an error.

/** The value of a document. */
export function parse(text) {
  const rows = [];
  text.split("\n").forEach((line, index) => {
    if (/^\s*(#|$)/.test(line)) return;
    const [, blanks, rest] = /^( *)(.*?)\s*$/.exec(line);
    rows.push({ indent: blanks.length, text: rest, number: index + 1 });
  });
  const [value, end] = block(rows, 0, 0);
  if (end < rows.length) throw wrong(rows[end]);
  return value;
}

/** The map or list that begins at a row. */
function block(rows, start, indent) {
  return rows[start].text.startsWith("- ") ? list(rows, start, indent) : map(rows, start, indent);
}

function list(rows, start, indent) {
  const items = [];
  let at = start;
  while (at < rows.length && rows[at].indent === indent && rows[at].text.startsWith("- ")) {
    // The first key of an item is a row of a map two columns further in.
    const item = { ...rows[at], indent: indent + 2, text: rows[at].text.slice(2) };
    const [value, end] = map([...rows.slice(0, at), item, ...rows.slice(at + 1)], at, indent + 2);
    items.push(value);
    at = end;
  }
  return [items, at];
}

function map(rows, start, indent) {
  const entries = {};
  let at = start;
  while (at < rows.length && rows[at].indent === indent && !rows[at].text.startsWith("- ")) {
    const found = /^([A-Za-z_][\w-]*):(?: (.*))?$/.exec(rows[at].text);
    if (!found || found[1] in entries) throw wrong(rows[at]);
    const [, key, word] = found;
    if (word !== undefined) {
      entries[key] = scalar(word, rows[at]);
      at += 1;
    } else {
      if (!(rows[at + 1]?.indent > indent)) throw wrong(rows[at]);
      [entries[key], at] = block(rows, at + 1, rows[at + 1].indent);
    }
  }
  if (at < rows.length && rows[at].indent > indent) throw wrong(rows[at]);
  return [entries, at];
}

/** A word: quoted as in JSON, or plain. A plain one can't hold what YAML takes for something else. */
function scalar(word, row) {
  if (word.startsWith('"')) return JSON.parse(word);
  const plain = word.replace(/ #.*$/, "").trim();
  if (/^[[\]{}&*!|>'%@`?,]|^$|: |:$/.test(plain)) throw wrong(row);
  return { true: true, false: false }[plain] ?? plain;
}

function wrong(row) {
  return new Error(`line ${row.number}: not a form of YAML that this reads: ${row.text}`);
}
