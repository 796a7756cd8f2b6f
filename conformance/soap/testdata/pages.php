<?php
// Carries unions, nested lists, nulls and every scalar with SoapClient, and calls each operation that the WSDL has.
// Usage: pages.php URL. Ends with status 0 when everything was as it should be.
[, $url] = $argv;

set_error_handler(function ($level, $message) { fail("PHP says: $message"); });

function fail(string $message): never
{
    fwrite(STDERR, $message . "\n");
    exit(1);
}

function same($got, $want, string $what): void
{
    if ($got !== $want) {
        fail("$what: got " . var_export($got, true) . ', want ' . var_export($want, true));
    }
}

function walk(SoapClient $client): void
{
    $title = "Älice <&> \u{1f600} \u{4e2d} ]]>";
    same($client->GetServiceInfo()->result->service, 'PageService', 'service');
    $page = $client->CreatePage(['input' => [
        'title' => $title, 'subtitle' => '', 'mood' => 'LOUD', 'rank' => -5, 'score' => 1.5e-7, 'live' => false, 'due' => '2026-11-20T10:00:00.5+02:00', 'on' => '2026-11-20',
        'tags' => ['item' => ['a', '', 'ü']], 'hero' => ['video' => ['url' => 'https://example.com/v', 'seconds' => 12.5]],
        'blocks' => ['item' => [['text' => ['body' => " kept \n as it is "]], ['quote' => ['body' => 'q']]]],
        'grid' => ['item' => [['item' => [1, 2]], ['item' => []]]], 'extra' => '{"a":[1,null]}',
    ]])->result;
    foreach ([$page, $client->GetPage(['id' => $page->id])->result] as $got) {
        same([$got->title, $got->subtitle, $got->mood, $got->rank, $got->score, $got->live, $got->extra], [$title, '', 'LOUD', -5, 1.5e-7, false, '{"a":[1,null]}'], 'page');
        same([strtotime($got->due), $got->on, $got->tags->item, $got->secret], [strtotime('2026-11-20T08:00:00Z'), '2026-11-20', ['a', '', 'ü'], null], 'page');
        same([isset($got->hero->image), $got->hero->video->seconds], [false, 12.5], 'hero');
        [$first, $second] = $got->blocks->item;
        same([$first->text->body, isset($first->quote), $second->quote->body, $second->quote->source], [" kept \n as it is ", false, 'q', null], 'blocks');
        same($got->grid->item[0]->item, [1, 2], 'grid');
    }
    $bare = $client->CreatePage(['input' => ['title' => 'Bare', 'rank' => null]])->result;
    same([$bare->subtitle, $bare->mood, $bare->rank, $bare->score, $bare->live, $bare->due, isset($bare->hero), isset($bare->blocks)], [null, 'CALM', null, null, null, null, false, false], 'bare page');
    $changed = $client->UpdatePage(['input' => ['id' => $page->id, 'rank' => null, 'fieldsToNull' => ['item' => ['hero', 'score']]]])->result;
    same([$changed->rank, $changed->score, isset($changed->hero)], [-5, null, false], 'changed page');
    foreach ([$page, $bare] as $gone) {
        same($client->DeletePage(['input' => ['id' => $gone->id]])->result->id, $gone->id, 'deleted page');
    }
}

// Each operation answers, or refuses with the typed fault.
function every(SoapClient $client): int
{
    $structs = [];
    foreach ($client->__getTypes() as $type) {
        if (preg_match('/^struct (\w+) \{(.*)\}$/s', $type, $match)) {
            preg_match_all('/(\S+) (\w+);/', $match[2], $members, PREG_SET_ORDER);
            $structs[$match[1]] = $members;
        }
    }
    $value = function (string $type) use (&$value, $structs) {
        if (isset($structs[$type])) {
            $made = [];
            foreach ($structs[$type] as [, $of, $name]) {
                $made[$name] = $name === 'item' ? [$value($of)] : $value($of);
            }
            return $made;
        }
        return match ($type) { 'int' => 1, 'double' => 1.5, 'boolean' => true, 'dateTime' => '2026-11-20T08:00:00Z', 'date' => '2026-11-20', default => uniqid() };
    };
    $operations = array_unique(array_map(fn ($f) => preg_replace('/^\S+ (\w+)\(.*$/', '$1', $f), $client->__getFunctions()));
    foreach ($operations as $operation) {
        try {
            $client->$operation($value($operation));
        } catch (SoapFault $f) {
            if (!isset($f->detail->ServiceFault->code)) {
                fail("$operation: " . $f->getMessage());
            }
        }
    }
    return count($operations);
}

foreach ([SOAP_1_1, SOAP_1_2] as $version) {
    foreach ([0, SOAP_COMPRESSION_ACCEPT | SOAP_COMPRESSION_GZIP | 5, SOAP_COMPRESSION_ACCEPT | SOAP_COMPRESSION_DEFLATE | 5] as $compression) {
        $client = new SoapClient("$url/v1/PageService?wsdl", [
            'soap_version' => $version, 'cache_wsdl' => WSDL_CACHE_NONE, 'features' => SOAP_SINGLE_ELEMENT_ARRAYS,
        ] + ($compression ? ['compression' => $compression] : []));
        walk($client);
    }
}
$latin = new SoapClient("$url/v1/PageService?wsdl", ['cache_wsdl' => WSDL_CACHE_NONE, 'encoding' => 'ISO-8859-1']);
$page = $latin->CreatePage(['input' => ['title' => "\xC4lice"]])->result;
same($page->title, "\xC4lice", 'title in Latin-1');
$latin->DeletePage(['input' => ['id' => $page->id]]);
echo 'PHP ', PHP_VERSION, ' made every call, plain, in gzip and in deflate, and each of ', every($client), " operations\n";
