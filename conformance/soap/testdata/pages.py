"""Carries unions, nested lists, nulls and every scalar with zeep, and calls each operation that the WSDL has.

Usage: pages.py URL. Ends with status 0 when everything was as it should be.
"""

import datetime
import sys
import uuid

import zeep
from zeep import xsd
from zeep.exceptions import Fault
from zeep.wsa import WsAddressingPlugin

url = sys.argv[1] + "/v1/PageService?wsdl"


def same(got, want, what):
    if got != want:
        sys.exit(f"{what}: got {got!r}, want {want!r}")


def walk(service):
    title = "Älice <&> \U0001f600 \u4e2d ]]>"
    same(service.GetServiceInfo().service, "PageService", "service")
    due = datetime.datetime(2026, 11, 20, 8, 0, 0, 500000, tzinfo=datetime.timezone.utc)
    page = service.CreatePage(input={
        "title": title, "subtitle": "", "mood": "LOUD", "rank": -5, "score": 1.5e-7, "live": False, "due": due, "on": datetime.date(2026, 11, 20),
        "tags": {"item": ["a", "ü"]}, "hero": {"video": {"url": "https://example.com/v", "seconds": 12.5}},
        "blocks": {"item": [{"text": {"body": " kept \n as it is "}}, {"quote": {"body": "q"}}]},
        "grid": {"item": [{"item": [1, 2]}, {"item": []}]}, "extra": '{"a":[1,null]}',
    })
    for got in (page, service.GetPage(id=page.id)):
        same((got.title, got.mood, got.rank, got.score, got.live, got.due, got.on, got.extra),
             (title, "LOUD", -5, 1.5e-7, False, due, datetime.date(2026, 11, 20), '{"a":[1,null]}'), "page")
        same((got.hero.image, got.hero.video.url, got.hero.video.seconds), (None, "https://example.com/v", 12.5), "hero")
        first, second = got.blocks.item
        same((first.text.body, first.quote, second.quote.body, second.quote.source), (" kept \n as it is ", None, "q", None), "blocks")
        same(got.grid.item[0].item, [1, 2], "grid")
        same(got.secret, None, "secret")
    bare = service.CreatePage(input={"title": "Bare", "rank": xsd.Nil})
    same((bare.subtitle, bare.mood, bare.rank, bare.score, bare.live, bare.due, bare.hero, bare.blocks, bare.grid), (None, "CALM") + (None,) * 7, "bare page")
    changed = service.UpdatePage(input={"id": page.id, "rank": xsd.Nil, "fieldsToNull": {"item": ["hero", "score"]}})
    same((changed.rank, changed.hero, changed.score), (-5, None, None), "changed page")
    for gone in (page, bare):
        same(service.DeletePage(input={"id": gone.id}).id, gone.id, "deleted page")


def generic(t):
    """A value of a type: one item of each list, every element that must be there, and texts that may mean nothing."""
    if isinstance(t, xsd.ComplexType):
        return {name: [generic(e.type)] if e.accepts_multiple else generic(e.type) for name, e in t.elements if not e.is_optional or e.accepts_multiple}
    for kind, value in ((xsd.Boolean, True), (xsd.Int, 1), (xsd.Double, 1.5), (xsd.DateTime, datetime.datetime.now()), (xsd.Date, datetime.date.today())):
        if isinstance(t, kind):
            return value
    return str(uuid.uuid4())


def every(client):
    """Each operation answers, or refuses with the typed fault."""
    operations = next(iter(client.wsdl.bindings.values()))._operations
    for name, operation in operations.items():
        try:
            client.service[name](**generic(operation.input.body.type))
        except Fault as f:
            if f.detail.find("{urn:tidings:v1:PageService}ServiceFault") is None:
                sys.exit(f"{name}: {f}")
    return len(operations)


client = zeep.Client(url)
walk(client.service)
walk(zeep.Client(url, plugins=[WsAddressingPlugin()]).service)
walk(zeep.Client(url + "&soap=1.2").bind("PageService", "PageServiceSoap12"))
print("zeep", zeep.__version__, "made every call, plain, addressed and in SOAP 1.2, and each of", every(client), "operations")
