/** Tables as text: CSV and TSV, read and written. */

const DELIMITERS = [",", ";", "\t"];
const NUMBER = /^[+-]?\d+(\.\d+)?(e[+-]?\d+)?$/i;

/** The rows of a table, each a list of cells; quoted cells may hold delimiters, quotes and line ends. */
export function read(text) {
  const delimiter = delimiterOf(text);
  const rows = [];
  let row = [];
  let cell = "";
  let quoted = false;
  const endRow = () => {
    row.push(cell);
    if (row.length > 1 || cell) rows.push(row);
    row = [];
    cell = "";
  };
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (quoted && character === '"' && text[at + 1] === '"') {
      cell += '"';
      at += 1;
    } else if (character === '"' && (quoted || !cell)) {
      quoted = !quoted;
    } else if (quoted) {
      cell += character;
    } else if (character === delimiter) {
      row.push(cell);
      cell = "";
    } else if (character === "\n" || character === "\r") {
      if (character === "\r" && text[at + 1] === "\n") at += 1;
      endRow();
    } else {
      cell += character;
    }
  }
  if (quoted) throw new RangeError("The file ends inside a quoted cell.");
  if (cell || row.length) endRow();
  return rows;
}

/** The delimiter that the first line has most of, outside of quotes. */
function delimiterOf(text) {
  const header = text.replace(/"[^"]*"/g, "").split(/[\r\n]/, 1)[0];
  const count = (delimiter) => header.split(delimiter).length;
  return DELIMITERS.reduce((best, next) => (count(next) > count(best) ? next : best));
}

/** Rows as CSV that Excel, too, reads as UTF-8, and in which no cell is a formula. */
export const written = (rows) => `\ufeff${rows.map((row) => row.map(quotedCell).join(",")).join("\r\n")}\r\n`;

function quotedCell(value) {
  const cell = harmless(String(value));
  return /[",;\t\r\n]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

/** A cell that a spreadsheet would compute, with an apostrophe before it; numbers and lists of them stay. */
export function harmless(cell) {
  const computed = /^\s*[=+\-@＝＋－＠]|^[\t\r\n]/.test(cell);
  return computed && !cell.split("|").every((part) => NUMBER.test(part)) ? `'${cell}` : cell;
}

/** Several values in one cell, as `tailwright predict --out` writes them: by `|`, or as JSON if one has a mark. */
export const listCell = (values, asJson) => (asJson ? JSON.stringify(values) : values.join("|"));

/** Whether a value would be split, or taken for JSON, by those who read the cell. */
export const hasMark = (value) => /[|;,]|^\s*[[{]/.test(value);
