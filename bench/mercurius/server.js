// Serves the baseline that is written in JavaScript: mercurius with its
// just-in-time compiler, over records in memory. Arguments: port, file of the
// records, file of the schema.
import { readFileSync } from 'node:fs'
import Fastify from 'fastify'
import mercurius from 'mercurius'

const [port, data, schemaFile] = process.argv.slice(2)
const users = JSON.parse(readFileSync(data, 'utf8'))
const byID = new Map(users.map(u => [u.id, u]))

const app = Fastify()
app.register(mercurius, {
  schema: readFileSync(schemaFile, 'utf8'),
  resolvers: {
    Query: {
      user: (_, { id }) => byID.get(id) ?? null,
      users: (_, { first }) => ({ nodes: users.slice(0, first ?? 20), edges: [], pageInfo: {}, totalCount: users.length }),
    },
    User: { posts: (user, { limit }) => user.posts.slice(0, limit) },
    Post: { author: post => byID.get(post.authorId) },
  },
  jit: 1,
  persistedQueryProvider: mercurius.persistedQueryDefaults.automatic(),
})
await app.listen({ port: Number(port), host: '127.0.0.1' })
