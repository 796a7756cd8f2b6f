// Serves the baseline that is written in JavaScript: npm's soap server on the
// service's own WSDL, over records in memory; with a server's URL new posts are
// published to JetStream, with its acknowledgement. Arguments: port, path, WSDL,
// file of the records, URL of a NATS server.
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import http from 'node:http'
import { connect } from 'nats'
import soap from 'soap'

const [port, path, wsdlFile, data, nats] = process.argv.slice(2)
const wsdl = readFileSync(wsdlFile, 'utf8')
const byID = new Map(JSON.parse(readFileSync(data, 'utf8')).map(({ posts, ...user }) => [user.id, user]))
const posts = new Map()

async function stream() {
  const nc = await connect({ servers: nats })
  await (await nc.jetstreamManager()).streams.add({ name: 'log', subjects: ['log.>'], storage: 'file' })
  return nc.jetstream()
}
const js = nats && await stream()

async function createPost({ input }) {
  const at = new Date().toISOString()
  const post = { id: randomUUID(), tags: { item: [] }, ...input, createdAt: at, updatedAt: at }
  if (js) await js.publish('log.Post', JSON.stringify(post))
  else posts.set(post.id, post)
  return { result: post }
}

const service = wsdl.match(/<wsdl:service name="(\w+)"/)[1]
const portName = wsdl.match(/<wsdl:port name="(\w+)"/)[1]
const server = http.createServer((_, res) => { res.statusCode = 404; res.end() })
soap.listen(server, path, { [service]: { [portName]: {
  GetUser: ({ id }) => ({ result: byID.get(id) }),
  CreatePost: createPost,
} } }, wsdl)
server.listen(Number(port), '127.0.0.1')
