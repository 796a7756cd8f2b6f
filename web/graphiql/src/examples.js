// Operations that run as they are, made from the loaded schema: for each resource its list, a new record, and its
// changes; and what else can be asked for, with the arguments that are needed.
import { getNamedType, getNullableType, isLeafType, isObjectType, isRequiredArgument, print, parse } from "graphql";
import { sampler } from "./samples.js";

// examples lists operations as { title, kind, query, variables }, those of the resources that refer to the fewest others
// first. known is of referred.js.
export function examples(schema, known = {}) {
  const make = maker(schema, known), all = resources(schema), used = new Set();
  const list = all.flatMap(({ name, list, create, changed, others }) => {
    [...others, list, create, changed].forEach(field => field && used.add(field));
    return [
      list && make.query("List" + capital(list.name), list, { first: 10 }, `nodes { ${make.leaves(name)} } totalCount`),
      create && make.mutation(capital(create.name), create),
      changed && make.subscription("Watch" + capital(list?.name ?? name), changed, { snapshot: true }),
    ].filter(Boolean);
  });
  const rest = [["query", schema.getQueryType()], ["mutation", schema.getMutationType()], ["subscription", schema.getSubscriptionType()]];
  for (const [kind, root] of rest) {
    for (const field of Object.values(root?.getFields() ?? {})) {
      const title = capital(field.name), taken = list.some(example => example.title === title);
      if (!used.has(field)) list.push(make[kind](taken ? title + capital(kind) : title, field));
    }
  }
  return list;
}

const capital = name => name[0].toUpperCase() + name.slice(1);
const small = name => name[0].toLowerCase() + name.slice(1);

// listOf finds the query that lists the records of a type.
export const listOf = (schema, type) => Object.values(schema.getQueryType()?.getFields() ?? {}).find(field => getNamedType(field.type).name === type + "Connection");

// resources finds the types with a list, or with a mutation that creates them and one that tells of their changes.
function resources(schema) {
  const queries = schema.getQueryType()?.getFields() ?? {}, mutations = schema.getMutationType()?.getFields() ?? {};
  const subscriptions = schema.getSubscriptionType()?.getFields() ?? {};
  return Object.values(schema.getTypeMap()).filter(isObjectType).flatMap(({ name }) => {
    const list = listOf(schema, name);
    const create = mutations["create" + name], changed = subscriptions[small(name) + "Changed"];
    if (!list && !(create && changed)) return [];
    const others = [queries[small(name)], queries[small(name) + "Changes"], queries[small(name) + "History"], mutations["update" + name], mutations["delete" + name]];
    return [{ name, list, create, changed, others, refers: references(schema.getType(name), create) }];
  }).sort((a, b) => a.refers - b.refers);
}

// references counts the relations of a type to one record, the ones that a new record must name ten times.
function references(type, create) {
  const input = create && getNamedType(create.args.find(arg => arg.name === "input")?.type)?.getFields?.() || {};
  return Object.values(type.getFields()).filter(field => isObjectType(getNullableType(field.type)) && type.getFields()[field.name + "Id"])
    .reduce((sum, field) => sum + (input[field.name + "Id"]?.type.toString().endsWith("!") ? 10 : 1), 0);
}

function maker(schema, known) {
  const sample = sampler(schema, known);

  // leaves are the fields of a type that have no parts and are for everybody who may see it, as a selection.
  function leaves(name, depth = 0) {
    const type = schema.getType(name);
    if (!type.getFields) return type.getTypes || type.getInterfaces ? "__typename" : "";
    const open = Object.values(type.getFields()).filter(field => !field.args.some(isRequiredArgument) && !guarded(field));
    const names = open.filter(field => isLeafType(getNamedType(field.type))).map(field => field.name);
    return names.join(" ") || nested(open, depth) || "__typename";
  }

  const nested = (fields, depth) => depth > 2 ? "" : fields.slice(0, 1).map(field => `${field.name} { ${leaves(getNamedType(field.type).name, depth + 1)} }`).join("");

  // change selects from the event of a resource's subscription, or of any other field's type.
  function selection(type) {
    const named = getNamedType(type);
    if (isLeafType(named)) return "";
    const whole = isObjectType(named) ? Object.values(named.getFields()).filter(field => isObjectType(getNamedType(field.type)) && !field.args.some(isRequiredArgument) && !guarded(field)) : [];
    const isChange = /Change$/.test(named.name);
    const parts = isChange ? whole.map(field => `${field.name} { ${leaves(getNamedType(field.type).name)} }`) : [];
    return `{ ${leaves(named.name)} ${parts.join(" ")} }`;
  }

  function operation(kind, title, field, fixed = {}, inner) {
    const args = field.args.filter(arg => arg.name in fixed || isRequiredArgument(arg));
    const variables = Object.fromEntries(args.filter(arg => !(arg.name in fixed)).map(arg => [arg.name, sample(arg)]));
    const declared = Object.keys(variables).map(name => `$${name}: ${field.args.find(arg => arg.name === name).type}`);
    const given = args.map(arg => `${arg.name}: ${arg.name in fixed ? JSON.stringify(fixed[arg.name]) : "$" + arg.name}`);
    const brackets = list => list.length ? `(${list.join(", ")})` : "";
    const query = print(parse(`${kind} ${title}${brackets(declared)} { ${field.name}${brackets(given)} ${inner ? `{ ${inner} }` : selection(field.type)} }`));
    return { title, kind, query, variables: declared.length ? JSON.stringify(variables, null, 2) : "" };
  }

  const only = (field, fixed) => Object.fromEntries(Object.entries(fixed).filter(([name]) => field.args.some(arg => arg.name === name)));
  return {
    leaves,
    query: (title, field, fixed = {}, inner) => operation("query", title, field, only(field, fixed), inner),
    mutation: (title, field) => operation("mutation", title, field),
    subscription: (title, field, fixed = {}) => operation("subscription", title, field, only(field, fixed)),
  };
}

// guarded says whether only some of those who see the type may see the field.
const guarded = field => field.astNode?.directives?.some(({ name }) => name.value === "auth");
