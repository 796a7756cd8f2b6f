"""Calls every operation of the example's service with zeep, strict as it is by default.

Usage: client.py URL PASSWORD. Ends with status 0 when everything was as it should be.
"""

import datetime
import sys

import zeep
from zeep import xsd
from zeep.exceptions import Fault
from zeep.wsse.username import UsernameToken
from zeep.wsse.utils import WSU

url, password = sys.argv[1], sys.argv[2]
wsdl = url + "/v1/SocialService?wsdl"


def timestamp():
    now = datetime.datetime.now(datetime.timezone.utc)
    later = now + datetime.timedelta(minutes=10)
    return WSU.Timestamp(WSU.Created(now.isoformat()), WSU.Expires(later.isoformat()))


def connect(user=None, password=password, source=wsdl, port=None):
    """Everybody sends a password in text; administrators a Timestamp, too."""
    token = UsernameToken(user, password, timestamp_token=timestamp() if user == "root" else None) if user else None
    client = zeep.Client(source, wsse=token)
    return client.bind("SocialService", port) if port else client.service


def items(wrapper):
    """The values of a list; zeep makes None of an empty wrapper."""
    return wrapper.item if wrapper else []


def same(got, want, what):
    if got != want:
        sys.exit(f"{what}: got {got!r}, want {want!r}")


def refused(code, faultcode, call, path=None):
    """The call must end in the typed fault."""
    try:
        result = call()
    except Fault as f:
        detail = f.detail.find("{urn:tidings:v1:SocialService}ServiceFault")
        texts = {e.tag.rpartition("}")[2]: e.text for e in detail}
        same(texts["code"], code, "code of the fault")
        same(f.code.rpartition(":")[2], faultcode, f"faultcode of {code}")
        same(texts.get("path"), path, f"path of {code}")
        if not texts.get("requestId") or not texts.get("message"):
            sys.exit(f"{code}: the detail lacks something: {texts}")
        return
    sys.exit(f"want {code}, got {result!r}")


def check(alice, bob, root, anonymous):
    name = "Älice <&> \U0001f600 \u4e2d"

    # User: id, email and adminNotes depend on who asks.
    user = alice.CreateUser(input={"name": name, "email": "alice@example.com"})
    same(user.id, "alice", "id of the own user")
    same(user.name, name, "name")
    same(user.email, "alice@example.com", "own email")
    same(user.adminNotes, None, "notes for the owner")
    same(user.avatar, None, "no avatar")
    if not isinstance(user.createdAt, datetime.datetime) or user.createdAt.tzinfo is None:
        sys.exit(f"createdAt is {user.createdAt!r}")
    bob.CreateUser(input={"name": "Bob", "email": "bob@example.com", "avatar": "https://example.com/bob.png"})

    same(anonymous.GetUser(id="alice").email, None, "email for strangers")
    same(root.GetUser(id="alice").email, "alice@example.com", "email for administrators")
    user = root.UpdateUser(input={"id": "alice", "adminNotes": "one\ntwo", "avatar": "https://example.com/a.png"})
    same(user.adminNotes, "one\ntwo", "notes for administrators")
    user = root.UpdateUser(input={"id": "alice", "fieldsToNull": {"item": ["avatar", "adminNotes"]}})
    same((user.avatar, user.adminNotes, user.name), (None, None, name), "cleared fields")
    user = alice.UpdateUser(input={"id": "alice", "name": "Alice", "avatar": xsd.Nil})
    same((user.name, user.avatar), ("Alice", None), "nil leaves a field as it is")

    page = anonymous.ListUsers(first=1)
    same(([u.id for u in items(page.nodes)], page.pageInfo.hasNextPage, page.totalCount), (["alice"], True, 2), "first page")
    page = anonymous.ListUsers(first=1, after=page.pageInfo.endCursor)
    same(([u.id for u in items(page.nodes)], page.pageInfo.hasNextPage), (["bob"], False), "second page")

    # Post: enums, lists, numbers.
    first = alice.CreatePost(input={"title": "One", "kind": "NOTE", "tags": {"item": ["a", "ü"]}, "minutes": 7})
    same((first.kind, items(first.tags), first.minutes, first.excerpt), ("NOTE", ["a", "ü"], 7, None), "post")
    same((first.authorId, first.author.name), ("alice", "Alice"), "author")
    second = alice.CreatePost(input={"title": "Two", "body": " kept \n as it is "})
    same((second.kind, items(second.tags), second.body), ("ARTICLE", [], " kept \n as it is "), "defaults")
    first = alice.UpdatePost(input={"id": first.id, "excerpt": "Short", "fieldsToNull": {"item": ["minutes"]}})
    same((first.excerpt, first.minutes, first.title), ("Short", None, "One"), "updated post")
    same(anonymous.GetPost(id=second.id).title, "Two", "other post")
    same([p.title for p in items(anonymous.ListPosts().nodes)], ["One", "Two"], "posts")
    same(items(anonymous.ListPosts(last=1).nodes)[0].id, second.id, "last post")

    # Follow: relations.
    follow = bob.CreateFollow(input={"followeeId": "alice"})
    same((follow.follower.id, follow.followee.name), ("bob", "Alice"), "follow")
    follow = bob.UpdateFollow(input={"id": follow.id, "followeeId": "bob"})
    same(follow.followee.name, "Bob", "updated follow")
    same(anonymous.GetFollow(id=follow.id).followerId, "bob", "other follow")
    same(anonymous.ListFollows().totalCount, 1, "follows")
    same(bob.DeleteFollow(input={"id": follow.id}).id, follow.id, "deleted follow")
    same(items(anonymous.ListFollows().nodes), [], "no follows")

    # What goes wrong.
    client = "Sender" if anonymous.soap12 else "Client"
    denied = "Sender" if anonymous.soap12 else "FailedAuthentication"
    refused("NOT_FOUND", client, lambda: anonymous.GetFollow(id=follow.id))
    refused("NOT_FOUND", client, lambda: bob.DeleteFollow(input={"id": follow.id}))
    refused("FORBIDDEN", client, lambda: bob.UpdateUser(input={"id": "alice", "name": "Eve"}))
    refused("FORBIDDEN", client, lambda: bob.DeletePost(input={"id": first.id}))
    refused("BAD_USER_INPUT", client, lambda: alice.CreatePost(input={"title": "x" * 201}), "input.title")
    refused("BAD_USER_INPUT", client, lambda: alice.CreatePost(input={"title": "x", "minutes": 0}), "input.minutes")
    refused("BAD_USER_INPUT", client, lambda: anonymous.ListUsers(first=1000), "first")
    refused("CONFLICT", client, lambda: bob.UpdateUser(input={"id": "bob", "email": "alice@example.com"}), "input.email")
    refused("UNAUTHENTICATED", denied, lambda: anonymous.wrong.GetUser(id="alice"))

    same(alice.DeletePost(input={"id": first.id}).title, "One", "deleted post")
    same(alice.DeletePost(input={"id": second.id}).title, "Two", "deleted post")
    same(alice.DeleteUser(input={"id": "alice"}).name, "Alice", "deleted user")
    same(bob.DeleteUser(input={"id": "bob"}).id, "bob", "deleted user")
    same(anonymous.ListUsers().totalCount, 0, "nobody left")


class Caller:
    """A service proxy that knows which version of SOAP it speaks."""

    def __init__(self, service, soap12, wrong=None):
        self.service, self.soap12, self.wrong = service, soap12, wrong

    def __getattr__(self, name):
        return getattr(self.service, name)


for soap12 in (False, True):
    source, port = (wsdl + "&soap=1.2", "SocialServiceSoap12") if soap12 else (wsdl, None)
    check(
        *(Caller(connect(user, source=source, port=port), soap12) for user in ("alice", "bob", "root")),
        Caller(connect(source=source, port=port), soap12, connect("alice", "wrong", source, port)),
    )
print("zeep", zeep.__version__, "made every call")
