// Signs calls with npm's soap, and checks that the answers are signed by the service.
//
// Usage: node sign.js WSDL KEY CERT SERVICE-CERT VARIANT [-]. With - it prints what
// it has signed instead of sending it.
const fs = require('node:fs');
const { createClientAsync, WSSecurityCert } = require('soap');
const { SignedXml } = require('xml-crypto');
const { DOMParser } = require('@xmldom/xmldom');

const [wsdl, key, cert, service, variant, print] = process.argv.slice(2);
const variants = {
  plain: {},
  prefixes: { signerOptions: { prefix: 'ds', attrs: { Id: 'signature' }, existingPrefixes: { wsse: 'http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd' } } },
  wssecurity: { signerOptions: { idMode: 'wssecurity' } },
  token: { additionalReferences: ['wsse:BinarySecurityToken'] },
  sha512: { signatureAlgorithm: 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha512', digestAlgorithm: 'http://www.w3.org/2001/04/xmlenc#sha512' },
};

function check(answer) {
  const doc = new DOMParser().parseFromString(answer, 'text/xml');
  const signature = doc.getElementsByTagNameNS('http://www.w3.org/2000/09/xmldsig#', 'Signature')[0];
  if (!signature) throw new Error('the answer is not signed: ' + answer);
  const sig = new SignedXml({ publicCert: fs.readFileSync(service), idMode: 'wssecurity' });
  sig.loadSignature(signature);
  if (!sig.checkSignature(answer)) throw new Error('the signature of the answer is wrong: ' + answer);
  if (!sig.getSignedReferences().some((part) => part.includes('Body'))) throw new Error('the Body of the answer is not signed');
}

async function main() {
  const options = { overridePromiseSuffix: 'Async' };
  if (print) options.httpClient = { request: (url, data) => { process.stdout.write(data); process.exit(0); } };
  const client = await createClientAsync(wsdl, options);
  client.setSecurity(new WSSecurityCert(fs.readFileSync(key), fs.readFileSync(cert, 'utf8'), '', variants[variant]));
  if (print) return client.GetPostAsync({ id: '1 < 2 é' });
  const [created, answer] = await client.CreatePostAsync({ input: { title: 'Fish & <chips> é', kind: 'NOTE' } });
  check(answer);
  const [got, second] = await client.GetPostAsync({ id: created.result.id });
  check(second);
  if (got.result.title !== 'Fish & <chips> é') throw new Error('the post has another title');
  try {
    await client.CreatePostAsync({ input: { title: '', kind: 'NOTE' } });
  } catch (fault) {
    check(fault.body);
    return;
  }
  throw new Error('a fault is missing');
}

main().catch((e) => { console.error(e); process.exit(1); });
