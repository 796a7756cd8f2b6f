<?php
// Hands work over in the background and follows changes, with SoapClient.
// Usage: jobs.php URL PASSWORD. Ends with status 0 when everything was as it should be.
[, $url, $password] = $argv;
const NS = 'urn:tidings:v1:SocialService';
const WSSE = 'http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd';

function same($got, $want, string $what): void
{
    if ($got !== $want) {
        fwrite(STDERR, "$what: got " . var_export($got, true) . ', want ' . var_export($want, true) . "\n");
        exit(1);
    }
}

function raw(string $namespace, string $name, string $xml): SoapHeader
{
    return new SoapHeader($namespace, $name, new SoapVar($xml, XSD_ANYXML));
}

foreach ([SOAP_1_1, SOAP_1_2] as $version) {
    $client = new SoapClient("$url/v1/SocialService?wsdl", ['soap_version' => $version, 'cache_wsdl' => WSDL_CACHE_NONE, 'features' => SOAP_SINGLE_ELEMENT_ARRAYS]);
    $security = raw(WSSE, 'Security', '<w:Security xmlns:w="' . WSSE . '"><w:UsernameToken><w:Username>bob</w:Username><w:Password>' . htmlspecialchars($password) . '</w:Password></w:UsernameToken></w:Security>');
    $key = raw(NS, 'RequestOptions', '<t:RequestOptions xmlns:t="' . NS . "\"><t:idempotencyKey>php-$version</t:idempotencyKey></t:RequestOptions>");
    $client->__setSoapHeaders([$security, $key]);

    $start = $client->PullPostChanges([])->result;
    same([$start->events->item ?? [], $start->hasMore], [[], false], 'a pull without a cursor');

    $rows = array_map(fn ($i) => ['title' => "Post $i", 'clientRef' => "row $i"], range(0, 119));
    $job = $client->SubmitCreatePosts(['inputs' => ['item' => $rows]])->result;
    same($client->SubmitCreatePosts(['inputs' => ['item' => $rows]])->result->jobId, $job->jobId, 'the same job');
    while ($job->retryAfterSeconds !== null) {
        usleep(200_000);
        $job = $client->GetJob(['jobId' => $job->jobId])->result;
    }
    same([$job->state, $job->done, $job->failed, $job->pagesReady], ['DONE', 120, 0, 2], 'the job');
    $created = [];
    for ($page = 1; $page <= $job->pages; $page++) {
        array_push($created, ...$client->GetJobResult(['jobId' => $job->jobId, 'page' => $page])->result->items->item);
    }
    same(array_map(fn ($r) => [$r->clientRef, $r->success, $r->post->title], $created), array_map(fn ($i) => ["row $i", true, "Post $i"], range(0, 119)), 'results');

    $kinds = [];
    $cursor = $start->cursor;
    do {
        $page = $client->PullPostChanges(['cursor' => $cursor, 'max' => 50, 'waitSeconds' => 1])->result;
        array_push($kinds, ...array_column($page->events->item ?? [], 'kind'));
        $cursor = $page->cursor;
    } while ($page->hasMore);
    same($kinds, array_fill(0, 120, 'CREATED'), 'events');
}
echo 'PHP ', PHP_VERSION, " handed work over and followed it\n";
