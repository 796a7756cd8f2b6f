"""Signs calls with zeep and xmlsec, and checks the signatures of the answers.

Usage: sign.py WSDL KEY CERT SERVICE-CERT VARIANT [-]. With - it prints what it
has signed instead of sending it. Ends with status 0 when everything was as it
should be.
"""

import datetime
import sys

import xmlsec
import zeep
from lxml import etree
from zeep import ns
from zeep.exceptions import Fault
from zeep.wsse import utils
from zeep.wsse.compose import Compose
from zeep.wsse.signature import BinarySignature, Signature, verify_envelope
from zeep.wsse.username import UsernameToken

wsdl, key, cert, service, variant = sys.argv[1:6]

SHA256 = dict(signature_method=xmlsec.Transform.RSA_SHA256, digest_method=xmlsec.Transform.SHA256)
SHA512 = dict(signature_method=xmlsec.Transform.RSA_SHA512, digest_method=xmlsec.Transform.SHA512)
ECDSA = dict(signature_method=xmlsec.Transform.ECDSA_SHA256, digest_method=xmlsec.Transform.SHA256)
variants = {
    "binary": (BinarySignature, SHA256),
    "x509data": (Signature, SHA256),
    "sha512": (BinarySignature, SHA512),
    "ecdsa": (BinarySignature, ECDSA),
    "sha1": (BinarySignature, {}),  # what zeep does unless it is told otherwise
    "user": (BinarySignature, SHA256),
}


class Timestamp:
    """zeep signs a Timestamp that is there, but makes none of its own."""

    def apply(self, envelope, headers):
        now = datetime.datetime.now(datetime.timezone.utc)
        later = now + datetime.timedelta(minutes=5)
        utils.get_security_header(envelope).append(
            utils.WSU.Timestamp(utils.WSU.Created(now.isoformat()), utils.WSU.Expires(later.isoformat()))
        )
        return envelope, headers

    def verify(self, envelope):
        return envelope


def checked(base):
    """zeep checks answers against the certificate of the request; here it is the service's."""

    class Checked(base):
        def verify(self, envelope):
            verify_envelope(envelope, service)
            covered = {
                e.getparent().get(etree.QName(ns.WSU, "Id")) or e.get("URI")
                for e in envelope.iter(etree.QName(ns.DS, "Reference"))
            }
            body = next(envelope.iter("{*}Body"))
            stamp = next(envelope.iter(etree.QName(ns.WSU, "Timestamp")))
            for e in (body, stamp):
                if "#" + e.get(etree.QName(ns.WSU, "Id")) not in covered:
                    sys.exit(f"the answer's {e.tag} is not signed")
            return envelope

    return Checked


base, methods = variants[variant]
wsse = [Timestamp(), checked(base)(key, cert, **methods)]
if variant == "user":
    wsse.insert(0, UsernameToken("partner", "correct horse battery"))
client = zeep.Client(wsdl, wsse=Compose(wsse))
if sys.argv[6:] == ["-"]:
    sys.stdout.buffer.write(etree.tostring(client.create_message(client.service, "GetPost", id="1 < 2 é")))
    sys.exit()

post = client.service.CreatePost(input={"title": "Fish & <chips> é", "kind": "NOTE", "tags": {"item": ["sea"]}})
if client.service.GetPost(id=post.id).title != "Fish & <chips> é":
    sys.exit("the post has another title")
try:
    client.service.CreatePost(input={"title": "", "kind": "NOTE"})
    sys.exit("a fault is missing")
except Fault as fault:  # signed as well: verify has seen it
    print(fault.code, fault.message)
