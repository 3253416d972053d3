/** Labels of many texts: pasted lines or a file in, CSV out, in batches that the server takes. */

import { predict } from "./api.js";
import { hasMark, listCell, read, written } from "./csv.js";
import { counted } from "./dom.js";

const TEXTS = 64; // of a batch at most
const CHARACTERS = 100_000; // of a batch at most; a single text may be longer
const LONGEST_WAIT = 60; // seconds, whatever the server asks for
const BUSY = new Set([429, 503]);
const TOO_MUCH = new Set([413, 422]); // of a server with lower limits, or about one text, which is then found

/** A table: a header and rows, and which of its columns is the text. */
export class Table {
  constructor(header, rows, field = 0) {
    Object.assign(this, { header, rows, field });
  }

  /** One text a line. Empty lines stay, so that the result fits beside the column it came from. */
  static ofLines(text) {
    const lines = text.split(/\r\n|\r|\n/);
    if (lines.at(-1) === "") lines.pop();
    return new Table(["text"], lines.map((line) => [line]));
  }

  /** A file: a table by its name, otherwise lines of text. */
  static ofFile(name, bytes) {
    let text;
    try {
      text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    } catch {
      throw new RangeError(`${name} is not in UTF-8; save it as “CSV UTF-8” and pick it again.`);
    }
    if (!/\.(csv|tsv)$/i.test(name)) return Table.ofLines(text);
    const [header, ...rows] = read(text);
    const odd = rows.findIndex((row) => row.length !== header.length);
    if (odd >= 0) {
      const found = `${counted(rows[odd].length, "cell")} in row ${odd + 2}`;
      throw new RangeError(`${name} has ${found}; expected ${header.length}, as in its header.`);
    }
    const likely = header.findIndex((cell) => /^(text|title|name|description)$/i.test(cell.trim()));
    return new Table(header, rows, Math.max(likely, 0));
  }

  get texts() {
    return this.rows.map((row) => row[this.field]);
  }

  /** The rows of the result: the first rows of the table with their labels; new columns get names that are free. */
  labelled(answers) {
    const free = (name) => (this.header.includes(name) ? free(`${name}_new`) : name);
    const fields = { labels: "id", names: "name" };
    const marks = Object.values(fields).some((field) => answers.flat().some((label) => hasMark(label[field])));
    const cells = (labels) => [
      ...Object.values(fields).map((field) => listCell(labels.map((label) => label[field]), marks)),
      listCell(labels.map((label) => Number((label.probability ?? label.score).toPrecision(6))), false),
    ];
    const header = [...this.header, ...[...Object.keys(fields), "scores"].map(free)];
    return [header, ...answers.map((labels, row) => [...this.rows[row], ...cells(labels)])];
  }
}

/**
 * The labels of all texts, put into `answers`, which keeps them whatever goes wrong later. `advance(done, waiting)`
 * is told how many are done, and how many seconds a busy server asks to wait.
 */
export async function labelAll(texts, question, answers, advance, signal) {
  let most = TEXTS;
  while (answers.length < texts.length) {
    const batch = nextBatch(texts, answers.length, most);
    try {
      answers.push(...(await predict(batch, question, signal)));
      advance(answers.length, 0);
    } catch (error) {
      if (TOO_MUCH.has(error.status) && batch.length > 1) {
        most = Math.floor(batch.length / 2);
      } else if (BUSY.has(error.status) && !Number.isNaN(error.wait)) {
        const seconds = Math.min(Math.max(error.wait, 0.1), LONGEST_WAIT);
        advance(answers.length, seconds);
        await pause(seconds, signal);
      } else {
        if (error.status && batch.length === 1) error.message = `Text ${answers.length + 1}: ${error.message}`;
        throw error;
      }
    }
  }
}

function nextBatch(texts, from, most) {
  let end = from + 1;
  let characters = texts[from].length;
  while (end < Math.min(from + most, texts.length) && characters + texts[end].length <= CHARACTERS) {
    characters += texts[end].length;
    end += 1;
  }
  return texts.slice(from, end);
}

function pause(seconds, signal) {
  return new Promise((done, stopped) => {
    const timer = setTimeout(done, 1000 * seconds);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      stopped(signal.reason);
    }, { once: true });
  });
}

/** The address of a file to download. */
export function csvAddress(rows) {
  return URL.createObjectURL(new Blob([written(rows)], { type: "text/csv;charset=utf-8" }));
}
