// Runs graphql-http's audits of a server and prints what came of each as a
// line of JSON.
import { serverAudits } from "graphql-http";

// Some audits ask for the schema, which in production is for administrators.
const [url, admin] = process.argv.slice(2);
const fetchFn = (input, init) => fetch(input, { ...init, headers: { ...init?.headers, Authorization: "Bearer " + admin } });

for (const audit of serverAudits({ url, fetchFn })) {
  const { id, name } = audit;
  const { status, reason } = await audit.fn();
  console.log(JSON.stringify({ id, name, status, reason }));
}
