import type { CodegenConfig } from "@graphql-codegen/cli";

// What the scalars of a contract are in TypeScript.
const scalars = {
  Cursor: "string",
  Date: "string",
  DateTime: "string",
  EmailAddress: "string",
  JSON: "unknown",
  PositiveInt: "number",
  URL: "string",
  UUID: "string",
};

const config: CodegenConfig = {
  generates: {
    // the client preset: a TypedDocumentNode for each operation
    "generated/social/": {
      preset: "client",
      schema: "../../examples/social/contract.graphql",
      documents: "operations/social.graphql",
      config: { scalars, strictScalars: true, useTypeImports: true },
      presetConfig: { fragmentMasking: false },
    },
    // types alone, of the operations and of what they are given
    "generated/pages.ts": {
      plugins: ["typescript-operations"],
      schema: "generated/pages.graphql",
      documents: "operations/pages.graphql",
      config: { scalars: { ...scalars, Money: "{ amount: string; currency: string }" }, strictScalars: true },
    },
  },
};
export default config;
