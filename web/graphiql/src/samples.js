// Values that an input takes, as far as the contract says which: types, and the rules of @constraint.
import { getDirectiveValues, isEnumType, isInputObjectType, isListType, isNonNullType, isRequiredInputField } from "graphql";
import { matching } from "./pattern.js";

// sampler returns a function that makes a value for a field or an argument. known gives ids of records that exist,
// by input and field. Texts end in something of this visit, so that values that must be unique are.
export function sampler(schema, known) {
  const visit = Math.random().toString(36).slice(2, 6);
  const constraint = schema.getDirective("constraint");

  function value(input, type = input.type, depth = 0, place = "") {
    if (isNonNullType(type)) return value(input, type.ofType, depth, place);
    const rules = constraint && input.astNode && getDirectiveValues(constraint, input.astNode) || {};
    if (isListType(type)) return Array.from({ length: rules.minItems ?? 1 }, () => value(input, type.ofType, depth));
    if (isEnumType(type)) return type.getValues()[0].name;
    if (isInputObjectType(type)) return object(type, depth + 1);
    return known[place] ?? scalar(type.name, input.name, rules, place);
  }

  // object gives what is required, and the first of the others where nothing is.
  function object(type, depth) {
    const fields = Object.values(type.getFields()), required = fields.filter(isRequiredInputField);
    const some = required.length || depth > 1 ? required : fields.filter(field => !/Id$|^id$/.test(field.name)).slice(0, 1);
    return Object.fromEntries(some.map(field => [field.name, value(field, field.type, depth, `${type.name}.${field.name}`)]));
  }

  function scalar(type, name, rules, place) {
    switch (type) {
      case "Int": case "PositiveInt": return number(rules, 1, type === "PositiveInt" ? 1 : -Infinity);
      case "Float": return number(rules, 0.5, -Infinity);
      case "Boolean": return true;
      case "DateTime": return new Date().toISOString();
      case "Date": return new Date().toISOString().slice(0, 10);
      case "EmailAddress": return text(`ada.${visit}@example.com`, rules);
      case "URL": return text(`https://example.com/${visit}`, rules);
      case "UUID": return crypto.randomUUID();
      case "JSON": return { example: true };
      case "ID": return text(place ? visit : "1", rules);
      default: return text(`${words(name)} ${visit}`, rules);
    }
  }

  return value;
}

const words = name => name.replace(/([a-z])([A-Z])/g, "$1 $2").replace(/^./, c => c.toUpperCase());

// number is the first that the rules let be, from the wish on.
function number({ min, max, exclusiveMin, exclusiveMax, multipleOf }, wish, least) {
  const step = multipleOf ?? (Number.isInteger(wish) ? 1 : 0.5);
  const from = Math.max(min ?? -Infinity, exclusiveMin ?? -Infinity, least);
  let value = Math.max(wish, from);
  if (value > Math.min(max ?? Infinity, exclusiveMax ?? Infinity)) value = from > -Infinity ? from : Math.min(max ?? exclusiveMax);
  if (multipleOf) value = Number((Math.ceil(value / step) * step).toPrecision(12));
  if (value === exclusiveMin) value += exclusiveMax === undefined ? step : Math.min(step, (exclusiveMax - exclusiveMin) / 2);
  if (value === exclusiveMax) value -= step;
  return value;
}

const formats = {
  byte: "ZXhhbXBsZQ==", date: "2030-01-31", "date-time": "2030-01-31T12:00:00Z", email: "ada@example.com",
  ipv4: "192.0.2.1", ipv6: "2001:db8::1", uri: "https://example.com/", uuid: "3f2b8c1e-7a4d-4e7b-9c55-0d1f6a2b3c4d",
};

// text fits a text to the rules.
function text(wish, { pattern, format, startsWith = "", endsWith = "", contains = "", minLength = 0, maxLength = Infinity }) {
  const exact = format ? formats[format] : pattern ? matching(pattern) : null;
  if (exact) return exact;
  const room = maxLength - [...startsWith + contains + endsWith].length;
  const middle = [...wish].slice(Math.max(0, [...wish].length - room)).join("");
  const whole = startsWith + middle + contains + endsWith, missing = minLength - [...whole].length;
  return missing > 0 ? startsWith + middle + "x".repeat(missing) + contains + endsWith : whole;
}
