"""Calls the example's service as a partner in every way that zeep has.

Usage: caller.py URL SECRET CA CERTIFICATE KEY. Ends with status 0 when every call was answered as it should be.
"""

import sys

import requests
import zeep
from zeep.exceptions import Fault
from zeep.wsse.username import UsernameToken

url, secret, ca, certificate, key = sys.argv[1:]


def call(wsse=None, **session):
    """Creates two posts over one client, and returns their author, or the fault's code."""
    http = requests.Session()
    http.trust_env = False  # or a CA bundle of the environment counts instead
    http.verify = ca
    for name, value in session.items():
        setattr(http, name, value)
    service = zeep.Client(url + "/v1/SocialService?wsdl", wsse=wsse, transport=zeep.Transport(session=http)).service
    try:
        authors = {service.CreatePost(input={"title": "T"}).authorId for _ in range(2)}
    except Fault as fault:
        return fault.code
    return authors.pop() if len(authors) == 1 else authors


for what, want, got in [
    ("digest", "acme", call(UsernameToken("erp", secret, use_digest=True))),
    ("text", "acme", call(UsernameToken("erp", secret))),
    ("basic", "acme", call(auth=("erp", secret))),
    ("certificate", "acme", call(cert=(certificate, key))),
    ("all", "acme", call(UsernameToken("erp", secret, use_digest=True), auth=("erp", secret), cert=(certificate, key))),
    ("wrong digest", "wsse:FailedAuthentication", call(UsernameToken("erp", "x" + secret, use_digest=True))),
    ("wrong basic", "wsse:FailedAuthentication", call(auth=("erp", "x" + secret))),
    ("nobody", "soap:Client", call()),
]:
    if got != want:
        sys.exit(f"{what}: got {got!r}, want {want!r}")
