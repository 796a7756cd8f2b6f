// The reference: graphql-js over the same contract and records. It reads one
// JSON object from standard input and writes one result a request.
import { readFileSync, writeFileSync } from 'node:fs';
import {
  buildSchema, buildClientSchema, printSchema, lexicographicSortSchema, getIntrospectionQuery,
  graphql, defaultFieldResolver, GraphQLError, isObjectType, isInputObjectType, getNamedType, Kind,
} from 'graphql';

const input = JSON.parse(readFileSync(0, 'utf8'));
const schema = buildSchema(input.sdl);
const tables = structuredClone(input.records);

const fail = (code, message) => { throw new GraphQLError(message, { extensions: { code } }); };
// Text is compared by code point. A moment without its Z comes before its later fractions: .195 before .195244.
const ordered = (v) => Buffer.from(String(v).replace(/^(\d{4}-\d\d-\d\dT[\d:.]+)Z$/, '$1'));
const compare = (a, b) => (b == null) - (a == null) || Buffer.compare(ordered(a), ordered(b));
const find = (type, id) => tables[type].find((r) => r.id === id);
const newestFirst = (list) => [...list].sort((a, b) => compare(b.id, a.id));

// ---- scalars: what the schema room's kinds take, as far as the documents go
function scalar(name, parse, literalKinds) {
  const type = schema.getType(name);
  if (!type) return;
  const refuse = () => { throw new GraphQLError(`bad ${name}`); };
  const take = (v) => parse(v) ?? refuse();
  type.parseValue = take;
  type.coerceInputValue = take;
  type.parseLiteral = (node) => (literalKinds.includes(node.kind) ? take(node.kind === Kind.INT ? Number(node.value) : node.value) : refuse());
  type.coerceInputLiteral = type.parseLiteral;
  type.serialize = take;
  type.coerceOutputValue = take;
}
const text = (pattern, to = (s) => s) => (v) => (typeof v === 'string' && pattern.test(v) ? to(v) : undefined);
scalar('DateTime', text(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/, (s) => {
  const [, fraction = ''] = /\.(\d+)/.exec(s) ?? [];
  const trimmed = fraction.replace(/0+$/, '');
  return new Date(s).toISOString().slice(0, 19) + (trimmed && '.' + trimmed) + 'Z';
}), [Kind.STRING]);
scalar('EmailAddress', text(/^[^@\s]+@[^@\s]+$/), [Kind.STRING]);
scalar('URL', text(/^https?:\/\/[^/\s]+/), [Kind.STRING]);
scalar('UUID', text(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i, (s) => s.toLowerCase()), [Kind.STRING]);
scalar('Date', text(/^\d{4}-\d\d-\d\d$/, (s) => (new Date(s).toJSON()?.startsWith(s) ? s : undefined)), [Kind.STRING]);
scalar('PositiveInt', (v) => (Number.isInteger(v) && v >= 1 && v <= 2147483647 ? v : undefined), [Kind.INT]);

// ---- rules of the example
const owners = { User: 'id', Post: 'authorId', Follow: 'followerId', Exhibit: 'id' };
const owns = (who, type, record) => who.sub && record[owners[type]] === who.sub;
const has = (who, ...roles) => roles.some((r) => who.roles.includes(r));
const readRules = {
  User: {
    email: (who, u) => has(who, 'ADMIN') || owns(who, 'User', u),
    adminNotes: (who) => has(who, 'ADMIN'),
  },
  Exhibit: { secret: (who) => has(who, 'ADMIN') },
};

// ---- lists
const words = {
  eq: (v, w) => v === w, ne: (v, w) => v !== w, lt: (v, w) => v < w, le: (v, w) => v <= w, gt: (v, w) => v > w, ge: (v, w) => v >= w,
  in: (v, w) => w.includes(v), notIn: (v, w) => !w.includes(v), between: (v, [a, b]) => v >= a && v <= b,
  beginsWith: (v, w) => v.startsWith(w), contains: (v, w) => v.includes(w), notContains: (v, w) => !v.includes(w),
};
function matches(record, filter) {
  return Object.entries(filter ?? {}).every(([name, value]) => {
    if (value === null) return true;
    if (name === 'and') return value.every((f) => matches(record, f));
    if (name === 'or') return value.some((f) => matches(record, f));
    if (name === 'not') return !matches(record, value);
    return Object.entries(value).every(([word, w]) => (w === null && word !== 'eq' && word !== 'ne') || words[word](record[name] ?? null, w));
  });
}
function connection(type, args) {
  for (const name of ['first', 'last']) {
    if (args[name] != null && (args[name] < 1 || args[name] > 100)) fail('BAD_USER_INPUT', name);
  }
  if (args.first != null && args.last != null) fail('BAD_USER_INPUT', 'both');
  let list = tables[type].filter((r) => matches(r, args.filter));
  const total = list.length;
  // A field counts once, nothing after the id does, and the id, which decides
  // between equals, goes the way of the term before it.
  let order = (args.orderBy ?? []).filter((o, i, all) => all.findIndex((p) => p.field === o.field) === i);
  const id = order.findIndex((o) => o.field === 'id');
  order = id >= 0 ? order.slice(0, id + 1) : [...order, { field: 'id', direction: order.at(-1)?.direction ?? 'ASC' }];
  list.sort((a, b) => order.reduce((d, o) => d || compare(a[o.field], b[o.field]) * (o.direction === 'DESC' ? -1 : 1), 0));
  const cursors = input.cursors[type];
  const at = (cursor) => {
    const id = Object.keys(cursors).find((k) => cursors[k] === cursor);
    return id ?? fail('BAD_USER_INPUT', 'cursor');
  };
  const whole = list;
  if (args.after) { const id = at(args.after); list = list.filter((r) => compare(r.id, id) > 0); }
  if (args.before) { const id = at(args.before); list = list.filter((r) => compare(r.id, id) < 0); }
  list = args.last != null ? list.slice(-args.last) : list.slice(0, args.first ?? 20);
  const cursor = (r) => (r ? cursors[r.id] ?? null : null);
  return {
    nodes: list,
    edges: list.map((r) => ({ node: r, cursor: cursor(r) })),
    totalCount: total,
    pageInfo: {
      hasNextPage: list.length > 0 && whole.indexOf(list.at(-1)) < whole.length - 1,
      hasPreviousPage: list.length > 0 && whole.indexOf(list[0]) > 0,
      startCursor: cursor(list[0]), endCursor: cursor(list.at(-1)),
    },
  };
}

// ---- changes by polling
function changes(type, { after, first, filter }) {
  first ??= 20;
  if (first < 1 || first > 100) fail('BAD_USER_INPUT', 'first');
  if (after == null) return { nodes: [], endCursor: input.now, hasMore: false };
  const place = input.places[after] ?? fail('BAD_USER_INPUT', 'cursor');
  const created = (c) => input.records[type].find((r) => r.id === c.id); // each was changed once, by its creation
  const later = input.changes[type].filter((c) => input.places[c.cursor] > place && matches(created(c), filter));
  const nodes = later.slice(0, first);
  const hasMore = later.length > first;
  const record = (c) => find(type, c.id);
  return {
    nodes: nodes.map((c) => ({ ...c, [type.toLowerCase()]: record(c) })),
    endCursor: hasMore ? nodes.at(-1).cursor : input.now, hasMore,
  };
}

// ---- what a record was, for administrators
function history(type, { id, after, first }, who) {
  if (!has(who, 'ADMIN')) fail('FORBIDDEN', type);
  first ??= 20;
  if (first < 1 || first > 100) fail('BAD_USER_INPUT', 'first');
  const place = after == null ? 0 : input.places[after] ?? fail('BAD_USER_INPUT', 'cursor');
  const nodes = input.changes[type].filter((c) => c.id === id && input.places[c.cursor] > place);
  const made = (c) => input.records[type].find((r) => r.id === c.id);
  return {
    nodes: nodes.map((c) => ({ ...c, [type.toLowerCase()]: made(c) })),
    endCursor: nodes.at(-1)?.cursor ?? null, hasMore: false, complete: true,
  };
}

// ---- relations
const limited = (list, { limit }) => {
  limit ??= 20;
  if (limit < 0 || limit > 100) fail('BAD_USER_INPUT', 'limit');
  return newestFirst(list).slice(0, limit);
};
const one = (type, id) => (id == null ? null : find(type, id) ?? fail('NOT_FOUND', type));
const relations = {
  User: {
    posts: (u, args) => limited(tables.Post.filter((p) => p.authorId === u.id), args),
    followers: (u, args) => limited(tables.Follow.filter((f) => f.followeeId === u.id && find('User', f.followerId)), args).map((f) => find('User', f.followerId)),
  },
  Post: { author: (p) => one('User', p.authorId) },
  Exhibit: { next: (e) => one('Exhibit', e.nextId) },
  Follow: { follower: (f) => one('User', f.followerId), followee: (f) => one('User', f.followeeId) },
};

// ---- mutations of User: enough to see serial execution and partial results
const mutations = {
  createUser(_, { input: u }, who) {
    if (!has(who, 'USER', 'SERVICE', 'ADMIN')) fail('FORBIDDEN', 'create');
    const id = u.id ?? who.sub;
    if (id !== who.sub && !has(who, 'SERVICE', 'ADMIN')) fail('FORBIDDEN', 'owner');
    if (u.name.length < 1 || u.name.length > 100) fail('BAD_USER_INPUT', 'name');
    if (find('User', id) || tables.User.some((r) => r.email === u.email)) fail('CONFLICT', 'taken');
    const record = { ...u, id, createdAt: '2026-01-01T00:00:00Z' };
    tables.User.push(record);
    return record;
  },
  updateUser(_, { input: u }, who) {
    const record = find('User', u.id) ?? fail('NOT_FOUND', 'User');
    if (!has(who, 'ADMIN') && !owns(who, 'User', record)) fail('FORBIDDEN', 'update');
    if (u.name === null) fail('BAD_USER_INPUT', 'name');
    return Object.assign(record, u);
  },
  // Exhibits hold objects: what their inputs say, with the type's name where it
  // is one of several.
  createExhibit(_, { input: e }, who) {
    if (!has(who, 'USER', 'ADMIN')) fail('FORBIDDEN', 'create');
    const id = e.id ?? who.sub;
    if (id !== who.sub && !has(who, 'ADMIN')) fail('FORBIDDEN', 'owner');
    if (find('Exhibit', id)) fail('CONFLICT', 'taken');
    if ('secret' in e && !has(who, 'ADMIN')) fail('FORBIDDEN', 'secret');
    const record = { ...stored(schema.getType('CreateExhibitInput'), e), id };
    tables.Exhibit.push(record);
    return record;
  },
  updateExhibit(_, { input: e }, who) {
    const record = find('Exhibit', e.id) ?? fail('NOT_FOUND', 'Exhibit');
    if ('secret' in e && !has(who, 'ADMIN')) fail('FORBIDDEN', 'secret');
    for (const name of ['label', 'pieces', 'mood']) if (e[name] === null) fail('BAD_USER_INPUT', name);
    return Object.assign(record, stored(schema.getType('UpdateExhibitInput'), e));
  },
  deleteUser(_, { input: { id } }, who) {
    const record = find('User', id) ?? fail('NOT_FOUND', 'User');
    if (!has(who, 'ADMIN') && !owns(who, 'User', record)) fail('FORBIDDEN', 'delete');
    tables.User = tables.User.filter((r) => r !== record);
    return record;
  },
};

function stored(type, value) {
  if (Array.isArray(value)) return value.map((v) => stored(type, v));
  if (value === null || !isInputObjectType(type)) return value;
  const entries = Object.entries(value).map(([k, v]) => [k, stored(getNamedType(type.getFields()[k].type), v)]);
  if (!type.isOneOf) return Object.fromEntries(entries);
  const [[key, inner]] = entries;
  return { __typename: getNamedType(type.getFields()[key].type).name.replace(/Input$/, ''), ...inner };
}

// ---- wiring
const sorted = (v) => (Array.isArray(v) ? v.map(sorted)
  : v && typeof v === 'object' ? Object.fromEntries(Object.keys(v).sort().map((k) => [k, sorted(v[k])])) : v);
const query = {
  echo: (_, args) => JSON.stringify(sorted(args)),
  need: (_, args) => JSON.stringify(sorted(args)),
  lab: () => input.lab, labStrict: () => input.lab, labs: () => [input.lab, null, input.lab],
  user: (_, { id }) => one('User', id), post: (_, { id }) => one('Post', id), follow: (_, { id }) => one('Follow', id),
  userChanges: (_, args) => changes('User', args), postChanges: (_, args) => changes('Post', args), followChanges: (_, args) => changes('Follow', args),
  exhibit: (_, { id }) => one('Exhibit', id), exhibits: (_, args) => connection('Exhibit', args), exhibitChanges: (_, args) => changes('Exhibit', args),
  ...Object.fromEntries(Object.keys(input.changes ?? {}).map((type) => [`${type.toLowerCase()}History`, (_, args, who) => history(type, args, who)])),
  ...Object.fromEntries(Object.entries(input.values ?? {}).map(([name, value]) => [name, () => value])),
  users: (_, args) => connection('User', args), posts: (_, args) => connection('Post', args), follows: (_, args) => connection('Follow', args),
};
for (const type of Object.values(schema.getTypeMap())) {
  if (!isObjectType(type) || type.name.startsWith('__')) continue;
  for (const field of Object.values(type.getFields())) {
    const own = type.name === 'Query' ? query[field.name] : type.name === 'Mutation' ? mutations[field.name] : relations[type.name]?.[field.name];
    const rule = readRules[type.name]?.[field.name];
    const inner = own ?? defaultFieldResolver;
    field.resolve = (source, args, who, info) => {
      if (rule && !rule(who, source)) fail('FORBIDDEN', field.name);
      return inner(source, args, who, info);
    };
  }
}

function told(error) {
  let code = error.extensions?.code;
  code ??= /^Argument|^Variable/.test(error.message) ? 'BAD_USER_INPUT' : 'INTERNAL';
  return { message: error.message, path: error.path ?? null, locations: error.locations ?? null, code };
}

const results = [];
for (const { query: source, variables, operationName, who, event } of input.requests) {
  // The selection set of a subscription runs on an event as the root value.
  const result = await graphql({ schema, source, variableValues: variables, operationName, contextValue: who, rootValue: event });
  results.push({ executed: 'data' in result, data: result.data ?? null, errors: (result.errors ?? []).map(told) });
}

// What a client builds from our introspection must be the contract.
const printed = input.introspection && {
  ours: printSchema(lexicographicSortSchema(buildClientSchema(input.introspection))),
  contract: printSchema(lexicographicSortSchema(schema)),
};
writeFileSync(1, JSON.stringify({ results, printed, introspectionQuery: getIntrospectionQuery({
  descriptions: true, specifiedByUrl: true, directiveIsRepeatable: true, schemaDescription: true, inputValueDeprecation: true, oneOf: true,
}) }));
