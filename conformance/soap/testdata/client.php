<?php
// Calls every operation of the example's service with SoapClient.
// Usage: client.php URL PASSWORD. Ends with status 0 when everything was as it should be.
[, $url, $password] = $argv;
const NS = 'urn:tidings:v1:SocialService';
const WSSE = 'http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd';

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

function connect(?string $user, int $version, ?string $password = null): SoapClient
{
    global $url;
    $client = new SoapClient("$url/v1/SocialService?wsdl", [
        'soap_version' => $version,
        'cache_wsdl' => WSDL_CACHE_NONE,
        'features' => SOAP_SINGLE_ELEMENT_ARRAYS,
    ]);
    if ($user !== null) {
        $password ??= $GLOBALS['password'];
        $token = '<w:Security xmlns:w="' . WSSE . '"><w:UsernameToken><w:Username>' . $user .
            '</w:Username><w:Password>' . htmlspecialchars($password) . '</w:Password></w:UsernameToken></w:Security>';
        $client->__setSoapHeaders(new SoapHeader(WSSE, 'Security', new SoapVar($token, XSD_ANYXML), true));
    }
    return $client;
}

// The call must end in the typed fault.
function refused(string $code, string $faultcode, ?string $path, callable $call): void
{
    try {
        $result = $call();
    } catch (SoapFault $f) {
        $detail = $f->detail->ServiceFault;
        same($detail->code, $code, 'code of the fault');
        same(substr(strrchr(':' . $f->faultcode, ':'), 1), $faultcode, "faultcode of $code");
        same($detail->path ?? null, $path, "path of $code");
        if ($detail->requestId === '' || $detail->message === '') {
            fail("$code: the detail lacks something");
        }
        return;
    }
    fail("want $code, got " . var_export($result, true));
}

function items(?stdClass $list): array
{
    return $list->item ?? [];
}

foreach ([SOAP_1_1, SOAP_1_2] as $version) {
    $alice = connect('alice', $version);
    $bob = connect('bob', $version);
    $root = connect('root', $version);
    $anonymous = connect(null, $version);
    $name = "Älice <&> \u{1f600} \u{4e2d}";

    // User.
    $user = $alice->CreateUser(['input' => ['name' => $name, 'email' => 'alice@example.com']])->result;
    same([$user->id, $user->name, $user->email, $user->adminNotes, $user->avatar], ['alice', $name, 'alice@example.com', null, null], 'own user');
    $bob->CreateUser(['input' => ['name' => 'Bob', 'email' => 'bob@example.com']]);
    same($anonymous->GetUser(['id' => 'alice'])->result->email, null, 'email for strangers');
    same($root->GetUser(['id' => 'alice'])->result->email, 'alice@example.com', 'email for administrators');
    $user = $root->UpdateUser(['input' => ['id' => 'alice', 'adminNotes' => "one\ntwo", 'avatar' => 'https://example.com/a.png']])->result;
    same([$user->adminNotes, $user->avatar], ["one\ntwo", 'https://example.com/a.png'], 'updated user');
    $user = $root->UpdateUser(['input' => ['id' => 'alice', 'fieldsToNull' => ['item' => ['avatar', 'adminNotes']]]])->result;
    same([$user->adminNotes, $user->avatar, $user->name], [null, null, $name], 'cleared fields');
    $page = $anonymous->ListUsers(['first' => 1])->result;
    same([$page->nodes->item[0]->id, $page->pageInfo->hasNextPage, $page->totalCount], ['alice', true, 2], 'first page');
    $page = $anonymous->ListUsers(['first' => null, 'after' => $page->pageInfo->endCursor])->result;
    same([$page->nodes->item[0]->id, $page->pageInfo->hasNextPage], ['bob', false], 'second page, first as nil');

    // Post.
    $first = $alice->CreatePost(['input' => ['title' => 'One', 'kind' => 'NOTE', 'tags' => ['item' => ['a', '', 'ü']], 'minutes' => 7]])->result;
    same([$first->kind, items($first->tags), $first->minutes, $first->excerpt], ['NOTE', ['a', '', 'ü'], 7, null], 'post');
    same([$first->authorId, $first->author->name], ['alice', $name], 'author');
    $second = $alice->CreatePost(['input' => ['title' => 'Two', 'kind' => null, 'body' => " kept \n as it is "]])->result;
    same([$second->kind, items($second->tags), $second->body], ['ARTICLE', [], " kept \n as it is "], 'defaults');
    $first = $alice->UpdatePost(['input' => ['id' => $first->id, 'excerpt' => 'Short', 'fieldsToNull' => ['item' => ['minutes']]]])->result;
    same([$first->excerpt, $first->minutes, $first->title], ['Short', null, 'One'], 'updated post');
    same($anonymous->GetPost(['id' => $second->id])->result->title, 'Two', 'other post');
    same(array_column(items($anonymous->ListPosts([])->result->nodes), 'title'), ['One', 'Two'], 'posts');

    // Follow.
    $follow = $bob->CreateFollow(['input' => ['followeeId' => 'alice']])->result;
    same([$follow->follower->id, $follow->followee->name], ['bob', $name], 'follow');
    $follow = $bob->UpdateFollow(['input' => ['id' => $follow->id, 'followeeId' => 'bob']])->result;
    same($follow->followee->name, 'Bob', 'updated follow');
    same($anonymous->GetFollow(['id' => $follow->id])->result->followerId, 'bob', 'other follow');
    same($anonymous->ListFollows([])->result->totalCount, 1, 'follows');
    same($bob->DeleteFollow(['input' => ['id' => $follow->id]])->result->id, $follow->id, 'deleted follow');
    same(items($anonymous->ListFollows([])->result->nodes), [], 'no follows');

    // What goes wrong.
    $client = $version === SOAP_1_1 ? 'Client' : 'Sender';
    $denied = $version === SOAP_1_1 ? 'FailedAuthentication' : 'Sender';
    $wrong = connect('alice', $version, 'wrong');
    refused('NOT_FOUND', $client, null, fn () => $anonymous->GetFollow(['id' => $follow->id]));
    refused('FORBIDDEN', $client, null, fn () => $bob->UpdateUser(['input' => ['id' => 'alice', 'name' => 'Eve']]));
    refused('BAD_USER_INPUT', $client, 'input.title', fn () => $alice->CreatePost(['input' => ['title' => str_repeat('x', 201)]]));
    refused('CONFLICT', $client, 'input.email', fn () => $bob->UpdateUser(['input' => ['id' => 'bob', 'email' => 'alice@example.com']]));
    refused('UNAUTHENTICATED', $denied, null, fn () => $wrong->GetUser(['id' => 'alice']));

    foreach ([$first, $second] as $post) {
        same($alice->DeletePost(['input' => ['id' => $post->id]])->result->title, $post->title, 'deleted post');
    }
    same($alice->DeleteUser(['input' => ['id' => 'alice']])->result->name, $name, 'deleted user');
    same($bob->DeleteUser(['input' => ['id' => 'bob']])->result->id, 'bob', 'deleted user');
    same($anonymous->ListUsers([])->result->totalCount, 0, 'nobody left');
}
echo 'PHP ', PHP_VERSION, " made every call\n";
