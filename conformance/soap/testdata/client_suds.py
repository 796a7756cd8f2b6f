"""Makes the calls of the service for pages with suds.

Usage: client_suds.py URL. Ends with status 0 when everything was as it should be.
"""

import sys

from suds import WebFault
from suds.client import Client

client = Client(sys.argv[1] + "/v1/PageService?wsdl", cache=None)
service = client.service


def same(got, want, what):
    if got != want:
        sys.exit(f"{what}: got {got!r}, want {want!r}")


def refused(code, path, call):
    try:
        result = call()
    except WebFault as f:
        detail = f.fault.detail.ServiceFault
        same((detail.code, getattr(detail, "path", None)), (code, path), "fault")
        return
    sys.exit(f"want {code}, got {result!r}")


title = "Älice <&> \U0001f600 \u4e2d ]]>"
same(service.GetServiceInfo().service, "PageService", "service")
page = service.CreatePage({
    "title": title, "mood": "LOUD", "rank": -5, "score": 1.5e-7, "live": False, "on": "2026-11-20", "tags": {"item": ["a", "ü"]},
    "hero": {"video": {"url": "https://example.com/v", "seconds": 12.5}},
    "blocks": {"item": [{"text": {"body": "kept"}}, {"quote": {"body": "q"}}]}, "grid": {"item": [{"item": [1, 2]}]},
})
for got in (page, service.GetPage(page.id)):
    same((got.title, got.mood, got.rank, got.score, got.live, got.secret), (title, "LOUD", -5, 1.5e-7, False, None), "page")
    same((got.hero.video.seconds, hasattr(got.hero, "image"), [str(t) for t in got.tags.item]), (12.5, False, ["a", "ü"]), "hero and tags")
    same((got.blocks.item[0].text.body, got.blocks.item[1].quote.body, list(got.grid.item[0].item)), ("kept", "q", [1, 2]), "blocks and grid")
changed = service.UpdatePage({"id": page.id, "fieldsToNull": {"item": ["hero", "score"]}})
same((changed.title, changed.rank, changed.score, hasattr(changed, "hero")), (title, -5, None, False), "changed page")
same(service.ListPages(1).totalCount, 1, "list")
refused("NOT_FOUND", None, lambda: service.GetPage("nobody"))
refused("BAD_USER_INPUT", "input.title", lambda: service.CreatePage({"title": "x" * 201}))
same(service.DeletePage({"id": page.id}).id, page.id, "deleted page")
print("suds made its calls")
