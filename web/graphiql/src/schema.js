// The contract of the loaded schema. The service prints it; unlike introspection it says which values an input takes,
// and who may read a field.
import { buildSchema } from "graphql";

const address = new URL("graphql/schema.graphql", location.href);
let tag = null; // of the contract that is loaded

// load resolves to the schema, or to null when it cannot be had or has not changed since.
export async function load() {
  try {
    const response = await fetch(address, { credentials: "omit", cache: "no-cache" }); // the browser says which one it has
    const text = await response.text();
    if (!response.ok || response.headers.get("ETag") === tag) return null;
    tag = response.headers.get("ETag");
    return buildSchema(text, { assumeValidSDL: true });
  } catch {
    return null; // the service is away, or restarts
  }
}

// watch calls with each schema that takes the place of the one before, while somebody looks at the page.
export function watch(changed) {
  const look = async () => {
    const schema = document.hidden ? null : await load();
    if (schema) changed(schema);
  };
  const timer = setInterval(look, 2000);
  document.addEventListener("visibilitychange", look);
  return () => {
    clearInterval(timer);
    document.removeEventListener("visibilitychange", look);
  };
}
