"""Hands work over in the background and follows changes, as docs/soap.md says, with zeep.

Usage: jobs.py URL PASSWORD. Ends with status 0 when everything was as it should be.
"""

import sys
import threading
import time

import zeep
from lxml.etree import Element, SubElement
from zeep.wsse.username import UsernameToken

url, password = sys.argv[1], sys.argv[2]
NS = "{urn:tidings:v1:SocialService}"
service = zeep.Client(url + "/v1/SocialService?wsdl", wsse=UsernameToken("alice", password)).service


def same(got, want, what):
    if got != want:
        sys.exit(f"{what}: got {got!r}, want {want!r}")


def named(key):
    options = Element(NS + "RequestOptions")
    SubElement(options, NS + "idempotencyKey").text = key
    return [options]


def finish(job):
    while job.retryAfterSeconds is not None:
        time.sleep(min(job.retryAfterSeconds, 1))
        job = service.GetJob(jobId=job.jobId)
    return job


def results(job):
    for page in range(1, job.pagesReady + 1):
        for item in service.GetJobResult(jobId=job.jobId, page=page)["items"].item:
            yield item


def pull(cursor, **options):
    page = service.PullPostChanges(cursor=cursor, **options)
    return (page.events.item if page.events else []), page.cursor, page.hasMore


# Follow from now on.
events, start, more = pull(None)
same((events, more), ([], False), "a pull without a cursor")

# Create 300 posts, of which one cannot be.
rows = [{"title": f"Post {i}" if i != 7 else "x" * 201, "clientRef": f"row {i}"} for i in range(300)]
job = service.SubmitCreatePosts(inputs={"item": rows}, _soapheaders=named("posts-1"))
same(service.SubmitCreatePosts(inputs={"item": rows}, _soapheaders=named("posts-1")).jobId, job.jobId, "the same job")
job = finish(job)
same((job.operation, job.state, job.done, job.failed, job.total, job.pages, job.reason), ("SubmitCreatePosts", "DONE", 300, 1, 300, 3, None), "the job")
created = list(results(job))
same([(r.index, r.clientRef, r.success) for r in created], [(i, f"row {i}", i != 7) for i in range(300)], "results")
same((created[7].error.code, created[7].error.path, created[7].post), ("BAD_USER_INPUT", "title", None), "what failed")
same((created[8].post.title, created[8].error), ("Post 8", None), "what succeeded")

# The same as events, page by page, each once.
cursor, seen, more = start, [], True
while more:
    events, cursor, more = pull(cursor, max=100)
    seen += [(e.kind, e.id, e.post.title) for e in events]
same(sorted(seen), sorted(("CREATED", r.post.id, r.post.title) for r in created if r.success), "events")

# Wait for what comes: deletions, in the background too.
woken = []
waiting = threading.Thread(target=lambda: woken.append(
    zeep.Client(url + "/v1/SocialService?wsdl").service.PullPostChanges(cursor=cursor, max=100, waitSeconds=25)))
waiting.start()
job = finish(service.SubmitDeletePosts(inputs={"item": [{"id": r.post.id} for r in created if r.success]}))
same((job.state, job.failed), ("DONE", 0), "the deletions")
waiting.join()
event = woken[0].events.item[0]
same((event.kind, event.id in {r.post.id for r in created if r.success}, event.post), ("DELETED", True, None), "the first deletion")
same(service.ListPosts().totalCount, 0, "nothing is left")
print("zeep", zeep.__version__, "handed work over and followed it")
