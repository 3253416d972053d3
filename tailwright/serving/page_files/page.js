/** The page: reads what runs there are, and connects the fields with what answers. */

import { keepKey, models } from "./api.js";
import { ColumnForm } from "./column_form.js";
import { byId, counted, element } from "./dom.js";
import { OneText } from "./one_text.js";

const LOADING = 2000; // milliseconds after which a server that still loads its runs is asked again

let runs = [];
let dialled = false; // until the dial is moved, each run ranks by its own default

function report(error) {
  byId("error").textContent = error ? error.message : "";
}

/** What to ask of a run, whatever the texts. */
function question(model) {
  const k = Math.min(Math.max(Math.round(byId("count").valueAsNumber) || 5, 1), 100);
  return { model, k, tail: dialled ? byId("tail").valueAsNumber : null };
}

const one = new OneText({ question, report });
new ColumnForm({ question: () => question(byId("model").value), report });

const chosen = () => runs.find(({ name }) => name === byId("model").value);

function sayTail() {
  const value = byId("tail").valueAsNumber;
  const words =
    value === 0 ? "ranked as trained"
    : value < 0.35 ? "rare labels a little earlier"
    : value < 0.7 ? "rare labels earlier"
    : "rare labels first";
  const recommended = chosen().recommended_tail;
  const advice = recommended ? `; this run recommends ${recommended.toFixed(2)}` : "";
  byId("tail-words").textContent = `${value.toFixed(2)}: ${words}${advice}`;
  byId("tail").setAttribute("aria-valuetext", byId("tail-words").textContent);
}

/** What the chosen run is, and the dial at its default. */
function showRun() {
  const run = chosen();
  const rows = run.rows === null ? "" : ` from ${counted(run.rows, "training row")}`;
  const unsure = run.calibrated ? "" : "; not calibrated";
  byId("facts").textContent = `${run.name}: ${run.model}, ${counted(run.labels, "label")}${rows}${unsure}.`;
  if (!dialled) byId("tail").value = run.tail ?? 0;
  sayTail();
}

async function start() {
  try {
    runs = await models();
  } catch (error) {
    report(error);
    if (error.status === 503) setTimeout(start, LOADING);
    return;
  }
  const names = runs.map(({ name }) => name);
  const option = (name) => element("option", { value: name }, name);
  byId("model").replaceChildren(...names.map(option));
  byId("other").replaceChildren(element("option", { value: "" }, "no other run"), ...names.map(option));
  for (const id of ["model-choice", "other-choice"]) byId(id).hidden = runs.length < 2;
  byId("key-form").hidden = true;
  report(null);
  showRun();
  one.now();
}

byId("text").addEventListener("input", () => one.later());
byId("count").addEventListener("input", () => one.later());
byId("other").addEventListener("change", () => one.now());
byId("model").addEventListener("change", () => {
  showRun();
  one.now();
});
byId("tail").addEventListener("input", () => {
  dialled = true;
  if (runs.length) sayTail();
  one.later();
});
document.addEventListener("key-wanted", () => {
  byId("key-form").hidden = false;
  byId("key").focus();
});
byId("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  keepKey(byId("key").value);
  byId("key").value = "";
  start();
});

start();
