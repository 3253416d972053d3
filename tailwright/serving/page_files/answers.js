/** The labels of a text as a list: name, bar, probability; each opens to say why. */

import { element, withShare } from "./dom.js";

/**
 * A list of labels. `beside` is what another run said of the same text, or null; `explain(label, panel)` fills
 * the panel of a label that is opened.
 */
export function answerList(labels, beside, explain) {
  if (!labels.length) return element("p", { class: "nothing" }, "Nothing fits.");
  const best = Math.max(...labels.map((label) => label.score));
  return element("ol", {}, ...labels.map((label) => answer(label, best, beside, explain)));
}

function answer(label, best, beside, explain) {
  const share = label.probability ?? (best > 0 ? label.score / best : 0);
  const panel = element("div", { class: "why", hidden: "" });
  const button = element(
    "button",
    { type: "button", class: "answer", "aria-expanded": "false" },
    element("span", { class: "name", dir: "auto" }, label.name),
    element("span", { class: "value" }, valueOf(label)),
    element("span", { class: "bar", "aria-hidden": "true" }, withShare(element("span"), "--share", share)),
  );
  const notes = [label.id === label.name ? "" : label.id, beside ? standing(label, beside) : ""];
  const note = notes.filter(Boolean).join(" · ");
  if (note) button.append(element("span", { class: "note" }, note));
  button.addEventListener("click", () => {
    panel.hidden = !panel.hidden;
    button.setAttribute("aria-expanded", String(!panel.hidden));
    if (!panel.hidden && !panel.hasChildNodes()) explain(label, panel);
  });
  return element("li", {}, button, panel);
}

/** The probability in percent, or the score of a model that has none. */
export function valueOf(label) {
  if (label.probability === null) return `score ${label.score.toPrecision(3)}`;
  const percent = 100 * label.probability;
  return percent > 0 && percent < 0.1 ? "< 0.1 %" : `${percent.toFixed(1)} %`;
}

/** Where the other run has the label. */
function standing(label, beside) {
  const place = beside.findIndex((other) => other.id === label.id);
  return place < 0 ? "only here" : `also there, place ${place + 1}`;
}
