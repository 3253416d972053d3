/** Labels of one text while it is typed, by one run or by two side by side. */

import { answerList, valueOf } from "./answers.js";
import { predict } from "./api.js";
import { byId, counted, element } from "./dom.js";
import { explain } from "./why.js";

const PAUSE = 200; // milliseconds without a key before the server is asked

/** Asks when something changes; `question(model)` is what to ask of a run, `report(error)` shows an error. */
export class OneText {
  constructor({ question, report }) {
    this.question = question;
    this.report = report;
    this.timer = 0;
    this.current = new AbortController(); // of the newest question; earlier ones are aborted
  }

  /** Ask again when nothing more has changed for a moment. */
  later() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.now(), PAUSE);
  }

  /** Ask now, and drop what is still under way. */
  async now() {
    clearTimeout(this.timer);
    this.current.abort();
    const { signal } = (this.current = new AbortController());
    const text = byId("text").value;
    const models = [byId("model").value, byId("other").value].filter(Boolean);
    if (!text.trim() || !models.length) { // the runs may not be known yet
      this.show([]);
      byId("status").textContent = "";
      return;
    }
    byId("answers").setAttribute("aria-busy", "true");
    try {
      const ask = async (model) => (await predict([text], this.question(model), signal))[0];
      const said = await Promise.all(models.map(ask));
      if (signal.aborted) return;
      const beside = (place) => (models.length > 1 ? said[1 - place] : null);
      this.show(models.map((model, place) => this.side(text, model, said[place], beside(place))));
      byId("status").textContent = summary(said[0]);
      this.report(null);
    } catch (error) {
      if (!signal.aborted) this.report(error);
    } finally {
      if (!signal.aborted) byId("answers").removeAttribute("aria-busy");
    }
  }

  show(sides) {
    byId("answers").replaceChildren(...sides);
    byId("answers").removeAttribute("aria-busy");
  }

  /** What one run said; with a heading where there are two. */
  side(text, model, labels, beside) {
    const { signal } = this.current;
    const open = async (label, panel) => {
      try {
        await explain(text, label, this.question(model), panel, signal);
      } catch (error) {
        panel.replaceChildren();
        if (!signal.aborted) this.report(error);
      }
    };
    const section = element("section", { "aria-label": `Labels by ${model}` });
    if (beside) section.append(element("h3", {}, model));
    section.append(answerList(labels, beside, open));
    return section;
  }
}

/** What a screen reader says when an answer has come. */
function summary(labels) {
  if (!labels.length) return "Nothing fits.";
  const [best] = labels;
  return `${counted(labels.length, "label")}; best: ${best.name}, ${valueOf(best)}. Open one to see why.`;
}
