// Calls every operation of the service for pages with gSOAP, by classes that
// wsdl2h and soapcpp2 made from the WSDL. Usage: client URL [12].
#include "PageServiceSoap.nsmap"
#include "soapPageServiceSoapProxy.h"
#include <cmath>
#include <cstring>
#include <iostream>
#include <string>

static struct soap *memory; // owns what is made for requests

static void check(bool good, const char *what) {
  if (!good) {
    std::cerr << what << "\n";
    exit(1);
  }
}
static void same(const char *got, const std::string &want, const char *what) {
  check(got && want == got, (std::string(what) + ": got " + (got ? got : "nothing") + ", want " + want).c_str());
}
template <class T> static T *made(T *(*make)(struct soap *, int)) { return make(memory, -1); }
template <class T> static T *value(T v) {
  T *p = static_cast<T *>(soap_malloc(memory, sizeof(T)));
  *p = v;
  return p;
}
static char *text(const std::string &s) { return soap_strdup(memory, s.c_str()); }

template <class T, class I> static void fill(T *list, std::initializer_list<I> items) {
  list->__sizeitem = static_cast<int>(items.size());
  list->item = static_cast<I *>(soap_malloc(memory, sizeof(I) * items.size()));
  std::copy(items.begin(), items.end(), list->item);
}

// called ends the program unless a call has succeeded.
static void called(PageServiceSoapProxy &s, int status, const char *what) {
  if (status != SOAP_OK) {
    std::cerr << what << ": ";
    s.soap_stream_fault(std::cerr);
    exit(1);
  }
}

// refused ends the program unless a call has ended in the typed fault.
static void refused(PageServiceSoapProxy &s, int status, const char *code, const char *path) {
  struct SOAP_ENV__Detail *detail = status == SOAP_OK || !s.soap->fault ? nullptr : s.soap->fault->detail ? s.soap->fault->detail : s.soap->fault->SOAP_ENV__Detail;
  if (!detail || !detail->ns1__ServiceFault_) {
    std::cerr << "want " << code << ": ";
    s.soap_stream_fault(std::cerr);
    exit(1);
  }
  same(detail->ns1__ServiceFault_->code, code, "code of the fault");
  const char *at = detail->ns1__ServiceFault_->path;
  same(at ? at : "", path, "path of the fault");
}

static const std::string title = "\xc3\x84lice <&> \"\xf0\x9f\x98\x80\" \xe4\xb8\xad ]]>";

static ns1__Page *create(PageServiceSoapProxy &s, ns1__CreatePageInput *input) {
  _ns1__CreatePage r;
  r.input = input;
  static _ns1__CreatePageResponse a;
  called(s, s.CreatePage(&r, a), "CreatePage");
  return a.result;
}

static ns1__CreatePageInput *everything() {
  auto *input = made(soap_new_ns1__CreatePageInput);
  input->title = text(title);
  input->subtitle = text("");
  input->mood = value(ns1__Mood__LOUD);
  input->rank = value(-5);
  input->score = value(1.5e-7);
  input->live = value(false);
  input->due = value(static_cast<time_t>(1795161600));
  input->on = text("2026-11-20");
  input->tags = made(soap_new_ns1__StringList);
  fill(input->tags, {text("a"), text(""), text("\xc3\xbc")});
  input->hero = made(soap_new_ns1__AssetInput);
  input->hero->video = made(soap_new_ns1__VideoInput);
  input->hero->video->url = text("https://example.com/v");
  input->hero->video->seconds = value(12.5);
  auto *first = made(soap_new_ns1__BlockInput), *second = made(soap_new_ns1__BlockInput);
  first->text = made(soap_new_ns1__TextInput);
  first->text->body = text(" kept \n as it is ");
  second->quote = made(soap_new_ns1__QuoteInput);
  second->quote->body = text("q");
  input->blocks = made(soap_new_ns1__BlockInputList);
  fill(input->blocks, {first, second});
  auto *row = made(soap_new_ns1__IntList), *none = made(soap_new_ns1__IntList);
  fill(row, {1, 2});
  input->grid = made(soap_new_ns1__IntListList);
  fill(input->grid, {row, none});
  input->extra = text("{\"a\":[1,null]}");
  return input;
}

static void whole(const ns1__Page *p) {
  same(p->title, title, "title");
  same(p->subtitle, "", "subtitle");
  check(p->mood == ns1__Mood__LOUD && p->rank && *p->rank == -5 && p->score && std::abs(*p->score - 1.5e-7) < 1e-15 && p->live && !*p->live, "scalars");
  check(p->due && *p->due == 1795161600, "due");
  same(p->on, "2026-11-20", "on");
  check(p->tags->__sizeitem == 3, "tags");
  same(p->tags->item[2], "\xc3\xbc", "tag");
  check(p->hero && !p->hero->image && p->hero->video && *p->hero->video->seconds == 12.5, "hero");
  check(p->blocks && p->blocks->__sizeitem == 2 && p->blocks->item[1]->quote && !p->blocks->item[1]->quote->source, "blocks");
  same(p->blocks->item[0]->text->body, " kept \n as it is ", "text");
  check(p->grid && p->grid->__sizeitem == 2 && p->grid->item[0]->__sizeitem == 2 && p->grid->item[0]->item[1] == 2 && p->grid->item[1]->__sizeitem == 0, "grid");
  same(p->extra, "{\"a\":[1,null]}", "extra");
  check(!p->secret, "secret");
}

int main(int argc, char **argv) {
  const std::string url = std::string(argv[1]) + "/v1/PageService";
  PageServiceSoapProxy s(url.c_str(), SOAP_C_UTFSTRING | SOAP_IO_KEEPALIVE);
  if (argc > 2) {
    soap_set_version(s.soap, 2);
  }
  memory = s.soap;

  _ns1__GetServiceInfo ask;
  _ns1__GetServiceInfoResponse info;
  called(s, s.GetServiceInfo(&ask, info), "GetServiceInfo");
  same(info.result->service, "PageService", "service");
  check(std::abs(static_cast<double>(info.result->time - time(nullptr))) < 60, "the service's time");

  const ns1__Page *page = create(s, everything());
  whole(page);
  const std::string id = page->id;
  _ns1__GetPage get;
  get.id = text(id);
  _ns1__GetPageResponse got;
  called(s, s.GetPage(&get, got), "GetPage");
  whole(got.result);

  auto *least = made(soap_new_ns1__CreatePageInput);
  least->title = text("Bare");
  const ns1__Page *bare = create(s, least);
  const std::string other = bare->id;
  check(!bare->subtitle && bare->mood == ns1__Mood__CALM && !bare->rank && !bare->score && !bare->live && !bare->due && !bare->on && !bare->hero && !bare->blocks && !bare->grid && !bare->extra, "bare page");
  check(bare->tags && bare->tags->__sizeitem == 0, "no tags");

  _ns1__UpdatePage update;
  update.input = made(soap_new_ns1__UpdatePageInput);
  update.input->id = text(id);
  update.input->fieldsToNull = made(soap_new_ns1__StringList);
  fill(update.input->fieldsToNull, {text("score"), text("hero")});
  _ns1__UpdatePageResponse updated;
  called(s, s.UpdatePage(&update, updated), "UpdatePage");
  same(updated.result->title, title, "title that was left");
  check(*updated.result->rank == -5 && !updated.result->score && !updated.result->hero, "cleared fields");

  _ns1__ListPages list;
  list.first = value(1);
  _ns1__ListPagesResponse listed;
  called(s, s.ListPages(&list, listed), "ListPages");
  check(listed.result->totalCount == 2 && listed.result->pageInfo->hasNextPage && listed.result->nodes->__sizeitem == 1, "list");

  _ns1__PullPageChanges pull;
  _ns1__PullPageChangesResponse pulled;
  called(s, s.PullPageChanges(&pull, pulled), "PullPageChanges");
  pull.cursor = text(pulled.result->cursor);

  auto *one = made(soap_new_ns1__CreatePageItem), *two = made(soap_new_ns1__CreatePageItem);
  one->title = text("One");
  two->title = text(std::string(201, 'x'));
  two->clientRef = text("b");
  _ns1__CreatePages batch;
  batch.inputs = made(soap_new_ns1__CreatePageInputList);
  fill(batch.inputs, {one, two});
  _ns1__CreatePagesResponse batched;
  called(s, s.CreatePages(&batch, batched), "CreatePages");
  auto **results = batched.result->item;
  check(batched.result->__sizeitem == 2 && results[0]->success && !results[1]->success, "batch");
  same(results[1]->error->code, "BAD_USER_INPUT", "error of an item");
  same(results[1]->clientRef, "b", "clientRef");
  const std::string third = results[0]->page->id;

  called(s, s.PullPageChanges(&pull, pulled), "PullPageChanges");
  check(pulled.result->events->__sizeitem == 1, "one event");
  same(pulled.result->events->item[0]->kind, "CREATED", "kind of the event");
  same(pulled.result->events->item[0]->page->title, "One", "record of the event");

  get.id = text("nobody");
  refused(s, s.GetPage(&get, got), "NOT_FOUND", "");
  auto *bad = made(soap_new_ns1__CreatePageInput);
  bad->title = text(std::string(201, 'x'));
  _ns1__CreatePage make;
  make.input = bad;
  _ns1__CreatePageResponse never;
  refused(s, s.CreatePage(&make, never), "BAD_USER_INPUT", "input.title");

  for (const std::string &gone : {id, other, third}) {
    _ns1__DeletePage remove;
    remove.input = made(soap_new_ns1__DeletePageInput);
    remove.input->id = text(gone);
    _ns1__DeletePageResponse removed;
    called(s, s.DeletePage(&remove, removed), "DeletePage");
    same(removed.result->id, gone, "deleted page");
  }
  std::cout << "gSOAP made every call\n";
}
