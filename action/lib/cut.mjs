// Cuts Markdown that is too long for a service, so that what follows the cut is not drawn into what was open there.

/** The most bytes of the closing lines. */
const CLOSING = 1024;

/**
 * Returns at most `limit` bytes: the text, or its beginning and then `note`. It is cut between lines, or in a long line of code, and a block
 * of code or folds that are open there are closed.
 */
export function cut(text, limit, note) {
  if (Buffer.byteLength(text) <= limit) return text;
  const room = limit - Buffer.byteLength(note) - CLOSING;
  let kept = "";
  let bytes = 0;
  /** The beginning of the row that closes the open block of code. */
  let fence = null;
  let folds = 0;
  for (const line of text.split(/(?<=\n)/)) {
    const size = Buffer.byteLength(line);
    if (bytes + size > room) {
      if (fence !== null && kept.length < room / 2) kept += beginning(line, room - bytes);
      break;
    }
    kept += line;
    bytes += size;
    const found = /^((?:[ >]|[-*+] |\d+[.)] )*)(`{3,}|~{3,})([^\n]*)/.exec(line);
    if (fence !== null) {
      const [mark] = fence.match(/[`~]+$/);
      if (found?.[2].startsWith(mark) && found[3].trim() === "") fence = null;
    } else if (found && !(found[2][0] === "`" && found[3].includes("`")) && found[1].length + found[2].length < CLOSING / 2) {
      // A row that begins an item continues it with blanks.
      fence = found[1].replace(/[^ >]/g, " ") + found[2];
    } else {
      folds += line.split(/(?<!\\)<details\b/).length - line.split(/(?<!\\)<\/details>/).length;
    }
  }
  if (!kept.endsWith("\n")) kept += "\n";
  if (fence !== null) kept += `${fence}\n`;
  return `${kept}${"\n</details>\n".repeat(Math.min(Math.max(folds, 0), 20))}\n${note}`;
}

/** The beginning of a text, of whole characters. */
function beginning(text, bytes) {
  const part = Buffer.from(text).subarray(0, Math.max(bytes, 0)).toString();
  return part.replace(/\ufffd+$/, "");
}
