/** Elements. Whatever a user, a label or the server said goes in as text, never as HTML. */

const SVG = "http://www.w3.org/2000/svg";

export const byId = (id) => document.getElementById(id);

/** An HTML element with attributes and children; a child that is a string becomes text. */
export const element = (tag, attributes = {}, ...children) =>
  filled(document.createElement(tag), attributes, children);

/** The same for SVG. */
export const drawn = (tag, attributes = {}, ...children) =>
  filled(document.createElementNS(SVG, tag), attributes, children);

function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** A number between 0 and 1 that the style sheet reads; the policy of the page allows no style attributes. */
export function withShare(made, name, share) {
  made.style.setProperty(name, Math.min(Math.max(share, 0), 1).toFixed(4));
  return made;
}

/** A text cut to a length in characters. */
export function short(text, limit) {
  const characters = [...text];
  return characters.length <= limit ? text : `${characters.slice(0, limit - 1).join("")}…`;
}

/** `3 rows`, `1 row`. */
export const counted = (count, noun) =>
  `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
