// What GraphiQL keeps from one visit to the next: tabs, history, the theme.
import { parse, validate } from "graphql";

// storage is the browser's, for GraphiQL. Headers are not kept: one of them may say who calls. GraphiQL leaves them out
// of its tabs by itself, and not out of its history.
export const storage = {
  getItem: key => localStorage.getItem(key),
  setItem: (key, value) => localStorage.setItem(key, /:(queries|favorites)$/.test(key) ? bare(value) : value),
  removeItem: key => localStorage.removeItem(key),
  clear: () => ours().forEach(key => localStorage.removeItem(key)),
  get length() { return ours().length; },
};

const ours = () => Object.keys(localStorage).filter(key => key.startsWith("graphiql:"));
const bare = value => JSON.stringify(JSON.parse(value), (key, part) => key === "headers" ? undefined : part);

// forgetForeignTabs forgets the tabs of the last visit when none of them is an operation of this schema: another may have
// been served at this address.
export function forgetForeignTabs(schema) {
  const fits = ({ query }) => {
    try {
      return validate(schema, parse(query)).length === 0;
    } catch {
      return false;
    }
  };
  try {
    if (JSON.parse(localStorage.getItem("graphiql:tabState")).tabs.some(fits)) return;
  } catch {
    // nothing is kept, or it cannot be read
  }
  for (const key of ["tabState", "query", "variables"]) localStorage.removeItem("graphiql:" + key);
}
