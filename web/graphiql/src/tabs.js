// What GraphiQL remembers is remembered for the address, at which another schema may have been served the last time.
import { parse, validate } from "graphql";

// forgetForeignTabs forgets the tabs of the last visit when none of them is an operation of this schema.
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
    // nothing is remembered, or it cannot be read
  }
  for (const key of ["tabState", "query", "variables"]) localStorage.removeItem("graphiql:" + key);
}
