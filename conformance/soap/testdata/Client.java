import java.util.Arrays;
import java.util.Collections;
import java.util.GregorianCalendar;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.net.URL;
import javax.xml.datatype.DatatypeFactory;
import javax.xml.ws.BindingProvider;
import javax.xml.ws.WebServiceFeature;
import javax.xml.ws.handler.MessageContext;
import javax.xml.ws.soap.AddressingFeature;
import pages.*;

// Calls every operation of the service for pages with JAX-WS, by classes that
// wsimport made from the WSDL. Usage: Client URL.
class Client {
    static void same(Object got, Object want, String what) {
        if (!Objects.equals(got, want)) {
            throw new AssertionError(what + ": got " + got + ", want " + want);
        }
    }

    static void refused(String code, String path, Callable<?> call) throws Exception {
        Object got;
        try {
            got = call.call();
        } catch (ServiceException e) {
            same(e.getFaultInfo().getCode(), code, "code of the fault");
            same(e.getFaultInfo().getPath(), path, "path of " + code);
            return;
        }
        throw new AssertionError("want " + code + ", got " + got);
    }

    static void walk(PageServicePortType port) throws Exception {
        String title = "\u00c4lice <&> \"\ud83d\ude00\" \u4e2d ]]>";
        DatatypeFactory times = DatatypeFactory.newInstance();

        ServiceInfo info = port.getServiceInfo();
        same(Arrays.asList(info.getService(), info.getVersion()), Arrays.asList("PageService", "v1"), "service");
        long off = info.getTime().toGregorianCalendar().getTimeInMillis() - System.currentTimeMillis();
        same(Math.abs(off) < 60_000, true, "the service's time");

        // Everything there is, in and out.
        CreatePageInput input = new CreatePageInput();
        input.setTitle(title);
        input.setSubtitle("");
        input.setMood(Mood.LOUD);
        input.setRank(-5);
        input.setScore(1.5e-7);
        input.setLive(false);
        input.setDue(times.newXMLGregorianCalendar("2026-11-20T10:00:00.5+02:00"));
        input.setOn(times.newXMLGregorianCalendar("2026-11-20"));
        input.setTags(new StringList());
        input.getTags().getItem().addAll(Arrays.asList("a", "", "\u00fc"));
        VideoInput video = new VideoInput();
        video.setUrl("https://example.com/v");
        video.setSeconds(12.5);
        input.setHero(new AssetInput());
        input.getHero().setVideo(video);
        BlockInput text = new BlockInput(), quote = new BlockInput();
        text.setText(new TextInput());
        text.getText().setBody(" kept \n as it is ");
        quote.setQuote(new QuoteInput());
        quote.getQuote().setBody("q");
        input.setBlocks(new BlockInputList());
        input.getBlocks().getItem().addAll(Arrays.asList(text, quote));
        IntList row = new IntList();
        row.getItem().addAll(Arrays.asList(1, 2));
        input.setGrid(new IntListList());
        input.getGrid().getItem().addAll(Arrays.asList(row, new IntList()));
        input.setExtra("{\"a\":[1,null]}");
        Page page = port.createPage(input);
        for (Page got : Arrays.asList(page, port.getPage(page.getId()))) {
            same(Arrays.asList(got.getTitle(), got.getSubtitle(), got.getMood(), got.getRank(), got.getScore(), got.isLive(), got.getExtra()),
                Arrays.<Object>asList(title, "", Mood.LOUD, -5, 1.5e-7, false, "{\"a\":[1,null]}"), "page");
            same(got.getDue().toGregorianCalendar().toInstant().toString(), "2026-11-20T08:00:00.500Z", "due");
            same(got.getTags().getItem(), Arrays.asList("a", "", "\u00fc"), "tags");
            same(Arrays.asList(got.getHero().getImage(), got.getHero().getVideo().getSeconds()), Arrays.asList(null, 12.5), "hero");
            List<Block> blocks = got.getBlocks().getItem();
            same(Arrays.asList(blocks.get(0).getText().getBody(), blocks.get(0).getQuote(), blocks.get(1).getQuote().getBody(), blocks.get(1).getQuote().getSource()),
                Arrays.asList(" kept \n as it is ", null, "q", null), "blocks");
            same(Arrays.asList(got.getGrid().getItem().get(0).getItem(), got.getGrid().getItem().get(1).getItem()), Arrays.asList(Arrays.asList(1, 2), Collections.emptyList()), "grid");
            same(got.getSecret(), null, "secret");
        }

        // Nothing that need not be there.
        CreatePageInput least = new CreatePageInput();
        least.setTitle("Bare");
        Page bare = port.createPage(least);
        same(Arrays.asList(bare.getSubtitle(), bare.getMood(), bare.getRank(), bare.getScore(), bare.isLive(), bare.getDue(), bare.getHero(), bare.getBlocks(), bare.getGrid(), bare.getExtra()),
            Arrays.<Object>asList(null, Mood.CALM, null, null, null, null, null, null, null, null), "bare page");
        same(bare.getTags().getItem(), Collections.emptyList(), "no tags");

        // What is not set stays as it is; a name in fieldsToNull clears it.
        UpdatePageInput change = new UpdatePageInput();
        change.setId(page.getId());
        change.setFieldsToNull(new StringList());
        change.getFieldsToNull().getItem().addAll(Arrays.asList("score", "hero"));
        Page changed = port.updatePage(change);
        same(Arrays.asList(changed.getTitle(), changed.getRank(), changed.getScore(), changed.getHero()), Arrays.<Object>asList(title, -5, null, null), "changed page");

        PageConnection list = port.listPages(1, null, null, null);
        same(Arrays.<Object>asList(list.getPageInfo().isHasNextPage(), list.getTotalCount()), Arrays.<Object>asList(true, 2), "first of the list");
        list = port.listPages(null, list.getPageInfo().getEndCursor(), null, null);
        same(Arrays.<Object>asList(list.getNodes().getItem().size(), list.getPageInfo().isHasNextPage()), Arrays.<Object>asList(1, false), "rest of the list");

        String cursor = port.pullPageChanges(null, null, null).getCursor();
        CreatePageInputList inputs = new CreatePageInputList();
        for (String name : Arrays.asList("One", String.join("", Collections.nCopies(201, "x")))) {
            CreatePageItem item = new CreatePageItem();
            item.setClientRef(name.substring(0, 1));
            item.setTitle(name);
            inputs.getItem().add(item);
        }
        List<CreatePageResult> made = port.createPages(inputs, null).getItem();
        same(Arrays.<Object>asList(made.get(0).isSuccess(), made.get(0).getPage().getTitle(), made.get(1).isSuccess(), made.get(1).getClientRef(), made.get(1).getError().getCode()),
            Arrays.<Object>asList(true, "One", false, "x", "BAD_USER_INPUT"), "batch");
        List<PageChange> events = port.pullPageChanges(cursor, 10, 0).getEvents().getItem();
        same(Arrays.asList(events.size(), events.get(0).getKind(), events.get(0).getPage().getTitle()), Arrays.<Object>asList(1, "CREATED", "One"), "pulled");

        refused("NOT_FOUND", null, () -> port.getPage("nobody"));
        CreatePageInput bad = new CreatePageInput();
        bad.setTitle(String.join("", Collections.nCopies(201, "x")));
        refused("BAD_USER_INPUT", "input.title", () -> port.createPage(bad));

        for (String id : Arrays.asList(page.getId(), bare.getId(), made.get(0).getPage().getId())) {
            DeletePageInput gone = new DeletePageInput();
            gone.setId(id);
            same(port.deletePage(gone).getId(), id, "deleted page");
        }
        same(port.listPages(null, null, null, null).getTotalCount(), 0, "nothing left");
    }

    static PageServicePortType connect(PageService service, String url, WebServiceFeature... features) {
        PageServicePortType port = service.getPageServiceSoap(features);
        ((BindingProvider) port).getRequestContext().put(BindingProvider.ENDPOINT_ADDRESS_PROPERTY, url);
        return port;
    }

    public static void main(String[] args) throws Exception {
        String url = args[0] + "/v1/PageService";
        PageService service = new PageService(new URL(url + "?wsdl"));
        walk(connect(service, url));
        walk(connect(service, url, new AddressingFeature(true, true)));
        PageServicePortType packed = connect(service, url);
        ((BindingProvider) packed).getRequestContext().put(MessageContext.HTTP_REQUEST_HEADERS,
            Map.of("Content-Encoding", List.of("gzip"), "Accept-Encoding", List.of("gzip")));
        walk(packed);
        System.out.println("JAX-WS made every call, plain, addressed and packed");
    }
}
