/** The form for a whole column: what is pasted or picked, the button, the progress, the download. */

import { csvAddress, labelAll, Table } from "./column.js";
import { byId, counted, element } from "./dom.js";

const SHOWN = 5; // rows of the result that the page shows

export class ColumnForm {
  /** `question()` is what to ask of the chosen run, `report(error)` shows an error. */
  constructor({ question, report }) {
    this.question = question;
    this.report = report;
    this.picked = null; // the table of a file
    this.running = null;
    byId("file").addEventListener("change", () => this.pick());
    byId("unpick").addEventListener("click", () => {
      byId("file").value = "";
      this.pick();
      byId("column").focus();
    });
    byId("field").addEventListener("change", () => (this.picked.field = byId("field").selectedIndex));
    byId("start").addEventListener("click", () => this.start());
    byId("stop").addEventListener("click", () => this.running.abort());
  }

  async pick() {
    const [file] = byId("file").files;
    this.picked = null;
    byId("field-choice").hidden = true;
    byId("column").disabled = Boolean(file);
    byId("unpick").hidden = !file;
    byId("column-status").textContent = "";
    this.report(null);
    if (!file) return;
    try {
      const table = Table.ofFile(file.name, await file.arrayBuffer());
      this.picked = table;
      byId("field").replaceChildren(...table.header.map((name) => element("option", {}, name)));
      byId("field").selectedIndex = table.field;
      byId("field-choice").hidden = table.header.length < 2;
      byId("column-status").textContent = `${file.name}: ${counted(table.rows.length, "text")}.`;
    } catch (error) {
      byId("file").value = "";
      await this.pick();
      this.report(error);
    }
  }

  async start() {
    const table = this.picked ?? Table.ofLines(byId("column").value);
    if (!table.rows.length) {
      byId("column-status").textContent = "There is no text yet: paste some lines or pick a file.";
      return;
    }
    const answers = [];
    this.running = new AbortController();
    this.busy(true, table.rows.length);
    this.report(null);
    try {
      const advance = (done, waiting) => this.progress(done, table.rows.length, waiting);
      await labelAll(table.texts, this.question(), answers, advance, this.running.signal);
    } catch (error) {
      if (error.name !== "AbortError") this.report(error);
    }
    this.busy(false);
    this.finish(table, answers);
  }

  busy(yes, count = 1) {
    byId("start").hidden = yes;
    byId("stop").hidden = !yes;
    byId("progress").hidden = !yes;
    byId("progress").max = count;
    byId("progress").value = 0;
    (yes ? byId("stop") : byId("start")).focus();
    if (yes) this.offer(null);
  }

  progress(done, count, waiting) {
    byId("progress").value = done;
    const pause = waiting ? ` The server is busy; going on in ${Math.ceil(waiting)} s.` : "";
    byId("column-status").textContent = `${done.toLocaleString("en")} of ${counted(count, "text")}.${pause}`;
  }

  finish(table, answers) {
    const [done, all] = [answers.length, table.rows.length];
    const texts = counted(all, "text");
    const said = [done < all ? `Stopped after ${done.toLocaleString("en")} of ${texts}.` : `${texts} done.`];
    if (done && done < all) said.push("The CSV has those that are done.");
    if (done) said.push("Cells that a spreadsheet would compute begin with an apostrophe.");
    byId("column-status").textContent = said.join(" ");
    if (done) this.offer(table.labelled(answers));
  }

  /** A link to the result and its first rows; nothing for null. */
  offer(rows) {
    const before = byId("download").querySelector("a");
    if (before) URL.revokeObjectURL(before.href);
    byId("download").replaceChildren();
    byId("preview").replaceChildren();
    if (!rows) return;
    const [header, ...body] = rows;
    const title = `Download labels.csv (${counted(body.length, "row")})`;
    byId("download").append(element("a", { href: csvAddress(rows), download: "labels.csv" }, title));
    const cells = (row, tag) => element("tr", {}, ...row.map((cell) => element(tag, {}, String(cell))));
    byId("preview").append(element("table", {},
      element("caption", {}, body.length > SHOWN ? `The first ${SHOWN} rows` : "The result"),
      element("thead", {}, cells(header, "th")),
      element("tbody", {}, ...body.slice(0, SHOWN).map((row) => cells(row, "td")))));
  }
}
