// Elements: found, made, and changed no more than they must be.

const $ = (id) => document.getElementById(id);
const el = (name, attributes = {}, ...children) => {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key in e) e[key] = value;
    else e.setAttribute(key, value);
  }
  e.append(...children.filter((c) => c != null));
  return e;
};

// write changes a text only where it is another one.
function write(e, text) {
  if (e.textContent !== text) e.textContent = text;
}

function tag(e, text, level) {
  write(e, text);
  e.className = `tag ${level}`;
}

// fill makes the children of parent those of the items, and keeps the elements of
// items that were there: focus and selection stay where they are.
function fill(parent, items, keyOf, make, update) {
  const known = new Map([...parent.children].map((e) => [e.dataset.key, e]));
  let at = parent.firstElementChild;
  for (const item of items) {
    const name = String(keyOf(item));
    let e = known.get(name);
    known.delete(name);
    if (!e) (e = make(item)).dataset.key = name;
    update(e, item);
    if (e === at) at = at.nextElementSibling;
    else parent.insertBefore(e, at);
  }
  for (const e of known.values()) e.remove();
}
