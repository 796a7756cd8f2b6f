// matching makes a text that a pattern of @constraint (RE2) matches, or null where the pattern is beyond it.
export function matching(pattern) {
  try {
    const text = alternatives({ rest: [...pattern] });
    return new RegExp(pattern, "u").test(text) ? text : null;
  } catch {
    return null;
  }
}

// alternatives takes the first of a|b|c, and passes over the others.
function alternatives(at) {
  const first = sequence(at);
  while (at.rest[0] === "|") {
    at.rest.shift();
    sequence(at);
  }
  return first;
}

function sequence(at) {
  let text = "";
  while (at.rest.length && at.rest[0] !== "|" && at.rest[0] !== ")") {
    const one = atom(at);
    text += one.repeat(times(at));
  }
  return text;
}

const classes = { d: "1", w: "a", s: " ", D: "a", W: "-", S: "a", b: "", A: "", z: "", t: "\t", n: "\n" };

function atom(at) {
  const c = at.rest.shift();
  if (c === "^" || c === "$") return "";
  if (c === ".") return "a";
  if (c === "[") return member(at);
  if (c === "\\") {
    const escaped = at.rest.shift();
    if (escaped === "p" || escaped === "P") throw new Error("a class of Unicode");
    return classes[escaped] ?? escaped;
  }
  if (c !== "(") return c;
  if (at.rest[0] === "?" && at.rest.splice(0, at.rest.indexOf(":") + 1).join("") !== "?:") throw new Error("flags");
  const text = alternatives(at);
  at.rest.shift(); // the closing bracket
  return text;
}

// member takes the first of a class, or one that is not in it.
function member(at) {
  const not = at.rest[0] === "^", body = [];
  if (not) at.rest.shift();
  do body.push(at.rest.shift()); while (at.rest.length && (at.rest[0] !== "]" || body.at(-1) === "\\"));
  at.rest.shift();
  if (not) return ["a", "1", "-", " "].find(c => new RegExp(`[^${body.join("")}]`, "u").test(c)) ?? "~";
  return body[0] === "\\" ? classes[body[1]] ?? body[1] : body[0];
}

// times is the least that a quantifier asks for, and one where that is none.
function times(at) {
  const c = at.rest[0];
  let least = 1;
  if (c === "*" || c === "+" || c === "?") at.rest.shift();
  else if (c === "{") least = Math.max(1, parseInt(at.rest.splice(0, at.rest.indexOf("}") + 1).slice(1).join("")));
  else return 1;
  if (at.rest[0] === "?") at.rest.shift(); // the lazy one
  return least;
}
