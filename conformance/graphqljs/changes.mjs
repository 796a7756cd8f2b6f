// The reference for changes of a contract: graphql-js's findSchemaChanges over
// pairs of schemas. It reads [{old, new}] and writes one list of changes a pair:
// class, kind, the coordinate that the description names, and for unions and
// interfaces the other type.
import { readFileSync, writeFileSync } from 'node:fs';
import { buildSchema, findSchemaChanges, BreakingChangeType, DangerousChangeType } from 'graphql';

const classOf = (type) => (type in BreakingChangeType ? 'BREAKING' : type in DangerousChangeType ? 'DANGEROUS' : 'SAFE');
const shapes = {
  TYPE_REMOVED_FROM_UNION: /^(?<other>\w+) was removed from union type (?<at>\w+)\./,
  TYPE_ADDED_TO_UNION: /^(?<other>\w+) was added to union type (?<at>\w+)\./,
  IMPLEMENTED_INTERFACE_ADDED: /^(?<other>\w+) added to interfaces implemented by (?<at>\w+)\./,
  IMPLEMENTED_INTERFACE_REMOVED: /^(?<at>\w+) no longer implements interface (?<other>\w+)\./,
  DIRECTIVE_LOCATION_REMOVED: /^(?<other>\w+) was removed from (?<at>@\w+)\./,
  DIRECTIVE_LOCATION_ADDED: /^(?<other>\w+) was added to (?<at>@\w+)\./,
  TYPE_REMOVED: /^(?:Standard scalar )?(?<at>\w+) was removed/,
  TYPE_ADDED: /^(?<at>\w+) was added\./,
  TYPE_CHANGED_KIND: /^(?<at>\w+) changed from/,
  DESCRIPTION_CHANGED: /^Description of (?:input-field |enum value |field |argument )?(?<at>\S+) has changed/,
};
const coordinate = /(?<at>@\w+\(\w+:\)|@\w+|\w+\.\w+\(\w+:\)|\w+\.\w+)/;

const pairs = JSON.parse(readFileSync(0, 'utf8'));
const results = pairs.map((pair) =>
  findSchemaChanges(buildSchema(pair.old), buildSchema(pair.new)).map(({ type, description }) => {
    const found = (shapes[type] ?? coordinate).exec(description);
    if (!found) throw new Error(`no coordinate in ${type}: ${description}`);
    return { class: classOf(type), kind: type, coordinate: found.groups.at, other: found.groups.other ?? '' };
  }));
writeFileSync(1, JSON.stringify(results));
