/** Asks the server; whatever goes wrong is a `Refusal` with one line for people. */

const KEY = "tailwright-key"; // in the storage of this tab, which the browser forgets when it is closed

export class Refusal extends Error {
  /** `wait` is how many seconds the server asks to wait; NaN where it does not say. */
  constructor(status, message, wait = NaN) {
    super(message);
    this.status = status;
    this.wait = wait;
  }
}

export const keepKey = (key) => sessionStorage.setItem(KEY, key);

/** The answer to a GET, or to a POST where there is a `body`. An abort by `signal` stays an AbortError. */
export async function ask(path, { body, signal } = {}) {
  const headers = {};
  const key = sessionStorage.getItem(KEY);
  if (key) headers.Authorization = `Bearer ${key}`;
  if (body) headers["Content-Type"] = "application/json";
  const options = { headers, signal, method: body ? "POST" : "GET", body: body && JSON.stringify(body) };
  let answer;
  try {
    answer = await fetch(new URL(path, document.baseURI), options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal(0, "The server cannot be reached.");
  }
  if (!answer.ok) throw await refusal(answer);
  return answer.json();
}

async function refusal(answer) {
  if (answer.status === 401) document.dispatchEvent(new Event("key-wanted"));
  const said = await answer.json().catch(() => ({}));
  const message = said.error?.message ?? `The server answered ${answer.status}.`;
  return new Refusal(answer.status, message, Number(answer.headers.get("Retry-After") ?? NaN));
}

/** What the runs of the server are. */
export const models = async () => (await ask("v1/models")).models;

/** The labels of some texts: a list for each. */
export async function predict(texts, question, signal) {
  const answer = await ask("v1/predict", { body: { texts, ...question }, signal });
  return answer.predictions.map((prediction) => prediction.labels);
}

/** All that is known of a label. */
export const labelFacts = (id, model, signal) =>
  ask(`v1/labels/${encodeURIComponent(id)}?model=${encodeURIComponent(model)}`, { signal });
