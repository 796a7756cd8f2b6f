// Calls the example's service as a partner in every way that npm's soap has.
// Usage: caller.mjs URL SECRET CA CERTIFICATE KEY, with NODE_EXTRA_CA_CERTS=CA.
import { readFileSync } from 'node:fs'
import soap from 'soap'

const [url, secret, ca, certificate, key] = process.argv.slice(2)

/** Creates two posts over one client, and returns their author, or the fault's code. */
async function call(security) {
  const client = await soap.createClientAsync(`${url}/v1/SocialService?wsdl`)
  if (security) client.setSecurity(security)
  let author
  for (let i = 0; i < 2; i++) {
    try {
      const [answer] = await client.CreatePostAsync({ input: { title: 'T' } })
      author = answer.result.authorId
    } catch (err) {
      return err.root?.Envelope.Body.Fault.faultcode ?? String(err)
    }
  }
  return author
}

const digest = { passwordType: 'PasswordDigest', hasTimeStamp: true, hasNonce: true, hasTokenCreated: true }
const cases = [
  ['digest', 'acme', () => call(new soap.WSSecurity('erp', secret, digest))],
  ['digest, short', 'acme', () => call(new soap.WSSecurity('erp', secret, 'PasswordDigest'))],
  ['text', 'acme', () => call(new soap.WSSecurity('erp', secret))],
  ['text with a nonce', 'acme', () => call(new soap.WSSecurity('erp', secret, { hasNonce: true, hasTokenCreated: true }))],
  ['basic', 'acme', () => call(new soap.BasicAuthSecurity('erp', secret))],
  ['certificate', 'acme', () => call(new soap.ClientSSLSecurity(readFileSync(key), readFileSync(certificate), readFileSync(ca)))],
  ['wrong digest', 'wsse:FailedAuthentication', () => call(new soap.WSSecurity('erp', `x${secret}`, digest))],
  ['nobody', 'soap:Client', () => call()],
]
for (const [what, want, run] of cases) {
  const got = await run()
  if (got !== want) {
    console.error(`${what}: got ${got}, want ${want}`)
    process.exit(1)
  }
}
