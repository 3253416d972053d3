/** Why a label was given: words of the text, nearest training rows, what each part said, and its neighbours. */

import { labelFacts, predict } from "./api.js";
import { counted, element, withShare } from "./dom.js";
import { neighbourGraph } from "./neighbours.js";

const NEIGHBOURS = 8;

/** Fills the panel of a label. `question` is what the label was an answer to: the model and the dial. */
export async function explain(text, label, question, panel, signal) {
  panel.setAttribute("aria-busy", "true");
  panel.replaceChildren(element("p", { class: "nothing" }, "Looking for reasons …"));
  try {
    const asked = { ...question, only: [label.id], k: 1, explain: true };
    const [[labels], facts] = await Promise.all([
      predict([text], asked, signal),
      labelFacts(label.id, question.model, signal),
    ]);
    panel.replaceChildren(...reasons(text, labels[0]?.why), ...about(facts));
  } finally {
    panel.removeAttribute("aria-busy");
  }
}

function reasons(text, why) {
  if (!why) return [element("p", { class: "nothing" }, "The run says nothing about why.")];
  const parts = [element("h4", {}, "Words for it, underlined, and against it, dotted")];
  if (why.words.length) parts.push(element("p", { class: "text", dir: "auto" }, ...marked(text, why.words)));
  else parts.push(element("p", { class: "nothing" }, "The run does not say which words counted."));
  if (why.rows.length) parts.push(element("h4", {}, "Nearest training rows"), nearest(why.rows));
  if (why.parts.length) parts.push(element("h4", {}, "What each part said"), opinions(why.parts));
  return parts;
}

/** The text with its words marked. The server counts characters; a string here counts pairs of some as two. */
export function marked(text, words) {
  const characters = [...text];
  const strongest = Math.max(...words.map((word) => Math.abs(word.weight)));
  const children = [];
  let at = 0;
  const inOrder = [...words].sort((one, other) => one.start - other.start);
  for (const { start, end, weight } of inOrder.filter((word) => word.weight !== 0)) {
    if (start < at || end > characters.length) continue; // inside of a word that is marked already
    const side = weight > 0 ? "for" : "against";
    const attributes = { class: side, title: `${side} it: ${weight.toFixed(3)}` };
    const mark = element("mark", attributes, characters.slice(start, end).join(""));
    children.push(characters.slice(at, start).join(""));
    children.push(withShare(mark, "--strength", Math.abs(weight) / strongest));
    at = end;
  }
  return [...children, characters.slice(at).join("")];
}

const nearest = (rows) =>
  element("ul", {}, ...rows.map((row) =>
    element("li", { dir: "auto" }, `${row.text} `,
      element("span", { class: "nothing" }, `similarity ${row.similarity.toFixed(2)}`))));

function opinions(parts) {
  const said = ({ score }) => (score === null ? "does not name it" : score.toPrecision(3));
  return element("ul", {}, ...parts.map((part) => element("li", {}, `${part.name}: ${said(part)}`)));
}

/** What is known of the label itself. */
function about(facts) {
  const found = [element("h4", {}, "The label")];
  const own = facts.text && facts.text !== facts.name;
  if (own) found.push(element("p", { class: "text", dir: "auto" }, facts.text));
  found.push(element("p", { class: "nothing" }, `In ${counted(facts.rows, "training row")}.`));
  const connected = facts.neighbours.length > 0;
  const near = connected
    ? facts.neighbours
    : facts.nearest.map((one) => ({ ...one, weight: one.similarity }));
  if (near.length) {
    const title = connected ? "Neighbours in the label graph" : "Labels with the nearest texts";
    found.push(element("h4", {}, title), neighbourGraph(facts.name, near.slice(0, NEIGHBOURS)));
  }
  return found;
}
