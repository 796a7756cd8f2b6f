// Records that exist, for the inputs that must name one.
import { getNamedType, isNonNullType, isObjectType } from "graphql";
import { listOf } from "./examples.js";
import { ask } from "./transport.js";

// referred resolves to the ids, each under the input and the field that it is for: { "CreateOfferInput.productId": "…" }.
export async function referred(schema) {
  const needs = needed(schema);
  if (!needs.length) return {};
  const query = `{ ${needs.map(({ list }, i) => `r${i}: ${list}(first: 1) { nodes { id } }`).join(" ")} }`;
  try {
    const { data } = await ask({ query });
    return Object.fromEntries(needs.flatMap(({ place }, i) => data?.[`r${i}`]?.nodes.map(({ id }) => [place, id]) ?? []));
  } catch {
    return {}; // the service is away: an example says what it answers
  }
}

// needed lists the fields of new records that must name another record, with the field that lists those.
function needed(schema) {
  return Object.values(schema.getTypeMap()).filter(isObjectType).flatMap(type => {
    const input = schema.getType(`Create${type.name}Input`);
    return Object.values(input?.getFields?.() ?? {}).flatMap(field => {
      const relation = isNonNullType(field.type) && type.getFields()[field.name.replace(/Id$/, "")];
      const list = relation && relation.name !== field.name && listOf(schema, getNamedType(relation.type).name);
      return list ? [{ place: `${input.name}.${field.name}`, list: list.name }] : [];
    });
  }).slice(0, 20);
}
