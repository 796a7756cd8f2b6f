using System;
using System.Linq;
using System.Net;
using System.Web.Services.Protocols;
using System.Xml;

// Calls every operation of the service for pages with .NET's XmlSerializer, by
// classes that wsdl.exe made from the WSDL. Usage: client.exe URL.
static class Client {
	static void Same(object got, object want, string what) {
		if (!Equals(got, want)) throw new Exception(what + ": got " + (got ?? "null") + ", want " + (want ?? "null"));
	}

	static void Refused(string code, string path, Action call) {
		try {
			call();
		} catch (SoapException e) {
			Func<string, string> text = name => ((XmlElement)e.Detail).GetElementsByTagName(name, "urn:tidings:v1:PageService").Cast<XmlNode>().Select(n => n.InnerText).FirstOrDefault();
			Same(text("code"), code, "code of the fault");
			Same(text("path"), path, "path of " + code);
			return;
		}
		throw new Exception("want " + code + ", got an answer");
	}

	static void Walk(PageService s) {
		const string title = "Älice <&> \"\U0001f600\" \u4e2d ]]>";
		var info = s.GetServiceInfo();
		Same(info.service, "PageService", "service");
		Same(Math.Abs((info.time.ToUniversalTime() - DateTime.UtcNow).TotalSeconds) < 60, true, "the service's time");

		// Everything there is, in and out.
		var due = new DateTime(2026, 11, 20, 8, 0, 0, 500, DateTimeKind.Utc);
		var page = s.CreatePage(new CreatePageInput {
			title = title, subtitle = "", mood = Mood.LOUD, moodSpecified = true, rank = -5, rankSpecified = true, score = 1.5e-7, scoreSpecified = true, live = false, liveSpecified = true,
			due = due, dueSpecified = true, on = new DateTime(2026, 11, 20), onSpecified = true,
			tags = new[] { "a", "", "ü" }, hero = new AssetInput { video = new VideoInput { url = "https://example.com/v", seconds = 12.5, secondsSpecified = true } },
			blocks = new[] { new BlockInput { text = new TextInput { body = " kept \n as it is " } }, new BlockInput { quote = new QuoteInput { body = "q" } } },
			grid = new[] { new[] { 1, 2 }, new int[0] }, extra = "{\"a\":[1,null]}",
		});
		foreach (var got in new[] { page, s.GetPage(page.id) }) {
			Same(got.title, title, "title");
			Same(got.subtitle, "", "subtitle");
			Same(got.mood, Mood.LOUD, "mood");
			Same(got.rank, -5, "rank");
			Same(got.score, 1.5e-7, "score");
			Same(got.live, false, "live");
			Same(got.due.Value.ToUniversalTime(), due, "due");
			Same(got.on.Value.Day, 20, "on");
			Same(string.Join("|", got.tags), "a||ü", "tags");
			Same(got.hero.image, null, "hero");
			Same(got.hero.video.seconds, 12.5, "hero");
			Same(got.blocks[0].text.body, " kept \n as it is ", "text");
			Same(got.blocks[1].quote.body + got.blocks[1].quote.source, "q", "quote");
			Same(got.grid[0].Length + got.grid[1].Length, 2, "grid");
			Same(got.extra, "{\"a\":[1,null]}", "extra");
			Same(got.secret, null, "secret");
		}

		// Nothing that need not be there.
		var bare = s.CreatePage(new CreatePageInput { title = "Bare" });
		foreach (var none in new object[] { bare.subtitle, bare.rank, bare.score, bare.live, bare.due, bare.on, bare.hero, bare.blocks, bare.grid, bare.extra }) Same(none, null, "bare page");
		Same(bare.mood, Mood.CALM, "default mood");
		Same(bare.tags.Length, 0, "no tags");

		// What is not set, or nil, stays as it is; a name in fieldsToNull clears it.
		var changed = s.UpdatePage(new UpdatePageInput { id = page.id, rankSpecified = true /* nil */, fieldsToNull = new[] { "score", "hero" } });
		Same(changed.title, title, "title that was left");
		Same(changed.rank, -5, "rank that was left");
		Same(changed.score, null, "score that was cleared");
		Same(changed.hero, null, "hero that was cleared");

		var list = s.ListPages(1, true, null, null, false, null);
		Same(list.pageInfo.hasNextPage, true, "there is more");
		list = s.ListPages(null, true /* nil */, list.pageInfo.endCursor, null, true, null);
		Same(list.nodes.Length, 1, "rest of the list");

		var cursor = s.PullPageChanges(null, null, false, null, false).cursor;
		var batch = s.CreatePages(new[] { new CreatePageItem { title = "One" }, new CreatePageItem { title = new string('x', 201), clientRef = "b" } }, null, true);
		Same(batch[0].success, true, "first of the batch");
		Same(batch[1].clientRef + batch[1].error.code, "bBAD_USER_INPUT", "second of the batch");
		var events = s.PullPageChanges(cursor, 10, true, 0, true).events;
		Same(events.Length + events[0].kind + events[0].page.title, "1CREATEDOne", "events");

		Refused("NOT_FOUND", null, () => s.GetPage("nobody"));
		Refused("BAD_USER_INPUT", "input.title", () => s.CreatePage(new CreatePageInput { title = new string('x', 201) }));

		foreach (var id in new[] { page.id, bare.id, batch[0].page.id }) Same(s.DeletePage(new DeletePageInput { id = id }).id, id, "deleted page");
		Same(s.ListPages(null, false, null, null, false, null).totalCount, 0, "nothing left");
	}

	static int Main(string[] args) {
		try {
			Walk(new PageService { Url = args[0] + "/v1/PageService" });
			Walk(new PageService { Url = args[0] + "/v1/PageService", SoapVersion = SoapProtocolVersion.Soap12 });
			Walk(new PageService { Url = args[0] + "/v1/PageService", EnableDecompression = true, RequestEncoding = System.Text.Encoding.Unicode });
		} catch (Exception e) {
			Console.Error.WriteLine(e);
			return 1;
		}
		Console.WriteLine("Mono made every call, in both versions, and in UTF-16");
		return 0;
	}
}
